select 'it''s' 'a', 'b'
'continued';
insert into t values (1);;
