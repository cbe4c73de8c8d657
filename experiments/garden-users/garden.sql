-- A garden diary: who grows what, where, and what was seen. About 60 MB.
CREATE SCHEMA garden;

CREATE TABLE garden.plant (
    plant_id bigint PRIMARY KEY,
    name text NOT NULL,
    family text NOT NULL,
    sown_from_month int NOT NULL,
    sown_to_month int NOT NULL
);

CREATE TABLE garden.plot (
    plot_id bigint PRIMARY KEY,
    gardener_id bigint NOT NULL,
    name text NOT NULL,
    area_m2 numeric(8, 2) NOT NULL
);

CREATE TABLE garden.planting (
    planting_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    plant_id bigint NOT NULL REFERENCES garden.plant,
    plot_id bigint NOT NULL REFERENCES garden.plot,
    planted_on date NOT NULL,
    note text NOT NULL
);

CREATE TABLE garden.observation (
    observation_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    planting_id bigint NOT NULL REFERENCES garden.planting,
    seen_at timestamptz NOT NULL,
    height_cm numeric(6, 1) NOT NULL,
    note text NOT NULL
);

CREATE TABLE garden.photo (
    photo_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    observation_id bigint NOT NULL REFERENCES garden.observation,
    path text NOT NULL,
    bytes int NOT NULL
);

INSERT INTO garden.plant
SELECT i, 'plant ' || i, 'family ' || i % 40, 2 + i % 4, 5 + i % 5 FROM generate_series(1, 2000) i;

INSERT INTO garden.plot
SELECT i, 1 + i % 5000, 'plot ' || i, 2 + (i * 7919) % 400 / 10.0 FROM generate_series(1, 20000) i;

INSERT INTO garden.planting (plant_id, plot_id, planted_on, note)
SELECT 1 + (i * 7919::bigint) % 2000, 1 + (i * 104729::bigint) % 20000, date '2016-03-01' + i % 500, 'sown in rows, ' || i
FROM generate_series(1, 100000) i;

INSERT INTO garden.observation (planting_id, seen_at, height_cm, note)
SELECT 1 + (i * 15485863::bigint) % 100000, timestamptz '2016-04-01 08:00Z' + i * interval '3 min', i % 900 / 10.0, 'grows well, ' || i
FROM generate_series(1, 200000) i;

INSERT INTO garden.photo (observation_id, path, bytes)
SELECT i, 'photos/' || i || '.jpg', 100000 + i % 90000 FROM generate_series(1, 200000, 4) i;

CREATE INDEX ON garden.plot (gardener_id);
CREATE INDEX ON garden.planting (plot_id);
CREATE INDEX ON garden.observation (planting_id, seen_at);
CREATE INDEX ON garden.photo (observation_id);
ANALYZE;
