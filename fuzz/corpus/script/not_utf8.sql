\set été 1
select :été, 'ÿþ';
