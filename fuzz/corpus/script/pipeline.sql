\startpipeline
select :scale;
\syncpipeline
select 1;
\endpipeline
