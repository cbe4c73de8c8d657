create or replace function f() returns int begin atomic select case when true then 1; end; select 2; end;
select f();
