-- What the questions ask for, and nothing else: a table for each kind of thing, with the columns that are asked for.
-- For osm2pgsql 1.8 and later, output flex. restructured.sql makes the tables that are asked out of these: neither sorted nor
-- indexed here, so that sorting is an arm of its own and nothing is sorted or indexed twice.
--
-- What is a polygon, and how its parts become rows, is as in osm2pgsql's own default.style (output pgsql), or the arms
-- would not hold the same data.

local function theme(name, id, geometry, columns)
    table.insert(columns, { column = 'geom', type = geometry, projection = 3857, not_null = true })
    return osm2pgsql.define_table{
        name = 'structured_' .. name,
        ids = { type = id, id_column = 'osm_id' },
        columns = columns,
        cluster = 'no',
        indexes = {},
    }
end

local bench = theme('bench', 'node', 'point', {})
local tree = theme('tree', 'node', 'point', {})
local poi = theme('poi', 'node', 'point', { { column = 'name' }, { column = 'kind', not_null = true } })
local road = theme('road', 'way', 'linestring', { { column = 'name' }, { column = 'ref' }, { column = 'kind', not_null = true } })
-- Ids of type 'area' are negative for relations, as in osm2pgsql's own tables.
local building = theme('building', 'area', 'polygon', { { column = 'name' }, { column = 'kind', not_null = true } })
local landuse = theme('landuse', 'area', 'polygon', { { column = 'name' }, { column = 'kind', not_null = true } })
local county = theme('county', 'area', 'polygon', { { column = 'name' } })
local municipality = theme('municipality', 'area', 'polygon', { { column = 'name' } })

-- A closed way with one of these is a polygon (flag "polygon" in default.style), so it is no road, whatever its highway.
local polygon_keys = {
    'abandoned:aeroway', 'abandoned:amenity', 'abandoned:building', 'abandoned:landuse', 'abandoned:power', 'aeroway', 'amenity',
    'area', 'area:highway', 'building', 'harbour', 'historic', 'landuse', 'leisure', 'man_made', 'military', 'natural', 'office', 'place',
    'power', 'public_transport', 'shop', 'sport', 'tourism', 'water', 'waterway', 'wetland',
}

local function is_polygon(way)
    if not way.is_closed or way.tags.area == 'no' then return false end
    for _, key in ipairs(polygon_keys) do
        if way.tags[key] and way.tags[key] ~= 'coastline' then return true end
    end
    return false
end

-- A row for each part of a multipolygon, as output pgsql does: many small boxes are found quicker than one large one.
local function insert_parts(into, object, tags, kind)
    for part in object:as_multipolygon():geometries() do
        into:insert{ name = tags.name, kind = kind, geom = part }
    end
end

local function insert_areas(object)
    local tags = object.tags
    if tags.building then insert_parts(building, object, tags, tags.building) end
    if tags.landuse then insert_parts(landuse, object, tags, tags.landuse) end
end

function osm2pgsql.process_node(node)
    local tags = node.tags
    if tags.amenity == 'bench' then bench:insert{ geom = node:as_point() } end
    if tags.natural == 'tree' then tree:insert{ geom = node:as_point() } end
    local kind = tags.amenity or tags.shop or tags.tourism
    if kind then poi:insert{ name = tags.name, kind = kind, geom = node:as_point() } end
end

function osm2pgsql.process_way(way)
    if is_polygon(way) then
        insert_areas(way)
    elseif way.tags.highway then
        local tags = way.tags
        road:insert{ name = tags.name, ref = tags.ref, kind = tags.highway, geom = way:as_linestring() }
    end
end

function osm2pgsql.process_relation(relation)
    local tags = relation.tags
    if tags.type ~= 'multipolygon' and tags.type ~= 'boundary' then return end
    insert_areas(relation)
    if tags.boundary == 'administrative' then
        -- Malta's regions have level 4, counties of the United States and of synthetic extracts level 6.
        if tags.admin_level == '4' or tags.admin_level == '6' then
            insert_parts(county, relation, tags)
        elseif tags.admin_level == '8' then
            insert_parts(municipality, relation, tags)
        end
    end
end
