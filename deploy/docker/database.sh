#!/bin/sh
# PostgreSQL's image runs this once, in an empty volume: a plain role for Cronty that owns its database, and no password
# for the superuser, who then comes in from inside the container only.
set -eu
psql --quiet --username postgres --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" <<'SQL'
create role cronty_app nologin;
create role cronty_engine nologin;
create role cronty login password :'password';
grant cronty_app, cronty_engine to cronty;
create database cronty owner cronty;
alter role postgres password null;
SQL
