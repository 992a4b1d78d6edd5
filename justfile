# Everything CI asks for. The tests stay last, so that pytest's summary is the last thing anyone reads.
check: lint types arrows
    pytest -n 3 --dist loadfile --no-loadscope-reorder

# Is it formatted, and free of what the linter knows?
lint:
    ruff format --check .
    ruff check .

# Let the formatter and the linter fix what they can.
fix:
    ruff check --fix .
    ruff format .

# Types, strict, over source and tests.
types:
    basedpyright

# Do the arrows between the rooms point down?
arrows:
    lint-imports --no-logo

# Run the tests; arguments go to pytest: `just test -m 'not npm'` leaves out what needs tools from npm.
test *args:
    pytest {{ args }}

# The rooms of the database and the stories through PgBouncer (1.21 or newer) in transaction mode.
test-pooled *args:
    CRONTY_TEST_POOLED=1 pytest {{ if args == "" { "tests/engine tests/store tests/stories" } else { args } }}

# Rewrite store/schema.sql from what the migrations build.
photograph:
    python -m cronty.store.photograph

# Rewrite the reference pages, the man page, completions, server.json, the bundle's manifest and the plugin from the things themselves.
reference:
    python -m tests.house.operations_page
    python -m tests.house.tools_page
    python -m tests.house.metrics_page
    python -m tests.house.tables_page
    python -m tests.house.registry_files
    python -m tests.house.plugin_files
    python -m tests.cli.reference_page
    python -m tests.cli.man_page
    python -m tests.web.test_rest_page

# Take the pictures of the dashboard anew, those of the README among them. Needs Chromium.
pictures:
    CRONTY_PICTURES=build/pictures pytest -q tests/web/test_browser.py -k pictures
    cp build/pictures/now.png build/pictures/week.png build/pictures/phone.png docs/pictures/

# Lock the dependencies by hash; `just lock --upgrade` takes newer versions. Needs uv on the PATH.
lock *args:
    {{ compile }} {{ args }} -o requirements/runtime.txt pyproject.toml
    {{ compile }} {{ args }} -o requirements/extras.txt -c requirements/runtime.txt --all-extras pyproject.toml
    {{ compile }} {{ args }} -o requirements/dev.txt -c requirements/extras.txt --all-extras --group dev pyproject.toml
    {{ compile }} {{ args }} -o requirements/image.txt -c requirements/extras.txt --extra web --extra apprise --extra holidays --extra otel pyproject.toml
    {{ compile }} {{ args }} -o requirements/build.txt -c requirements/dev.txt --group pyproject.toml:build
    {{ compile }} {{ args }} -o requirements/site.txt -c requirements/dev.txt --group pyproject.toml:site

# Build the documentation as a site in build/site; warnings, links to nowhere and lists that come apart are errors.
site:
    python -m tests.house.site

# Pack dist/cronty-….mcpb, which desktop clients install with a click.
bundle:
    python -m tests.house.registry_files pack

# What Cronty is made of, as CycloneDX, from the locked dependencies.
sbom:
    python -m tests.house.sbom

# Side by side with bare PostgreSQL, as ratios.
bench *args:
    python -m bench {{ args }}

# kill -9, clock jumps, PostgreSQL restarts, a simulated life (`just chaos life`): do the promises hold?
chaos *args:
    python -m chaos {{ args }}

# Annotations and index options are left out so that the files name no path and no host.
compile := "uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command 'just lock'"
