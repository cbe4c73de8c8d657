\set a greatest(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)
select :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a, :a;
