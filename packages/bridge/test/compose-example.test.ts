import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bridgeStore } from '@reply/postgres/bridge'
import { bridgeChannel } from '@reply/telegram/bridge'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'
import { parseChannel, parseConfig, parseState } from '../src/config/parse.ts'

const fileOf = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url))
const textOf = (name: string): string => readFileSync(fileOf(name), 'utf8')
const example = 'packages/postgres/example'

const bridgeService = z.strictObject({
  build: z.strictObject({ context: z.literal('.'), dockerfile: z.string() }),
  environment: z.record(z.string(), z.string()),
  extra_hosts: z.array(z.string()),
  networks: z.strictObject({ default: z.strictObject({ aliases: z.tuple([z.string()]) }) }),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })),
  restart: z.literal('always'),
  stop_grace_period: z.templateLiteral([z.number(), 's']),
  init: z.literal(true),
  read_only: z.literal(true),
  tmpfs: z.tuple([z.literal('/tmp')]),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  ports: z.tuple([z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)]),
})

/** A service that only starts with its profile. */
const optionalService = (profile: string) => ({
  profiles: z.tuple([z.literal(profile)]),
  image: z.string().regex(/^[\w/]+:v?\d[\w.-]*$/),
  volumes: z.array(z.string()),
  restart: z.literal('always'),
})

const { services, volumes } = z
  .looseObject({
    services: z.strictObject({
      'bridge-a': bridgeService,
      'bridge-b': bridgeService,
      'bridge-c': bridgeService,
      db: z.strictObject({
        image: z.string().regex(/^postgres:\d+-[a-z]+$/),
        environment: z.record(z.string(), z.string()),
        volumes: z.tuple([z.string()]),
        healthcheck: z.looseObject({ test: z.array(z.string()) }),
        restart: z.literal('always'),
      }),
      balancer: z.strictObject({
        ...optionalService('webhooks'),
        environment: z.strictObject({ DOMAIN: z.string() }),
        ports: z.tuple([z.literal('443:443'), z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)]),
      }),
      prometheus: z.strictObject(optionalService('metrics')),
      grafana: z.strictObject({
        ...optionalService('metrics'),
        environment: z.record(z.string(), z.string()),
        ports: z.tuple([z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)]),
      }),
    }),
    volumes: z.record(z.string(), z.null()),
  })
  .parse(parse(textOf(`${example}/compose.yaml`), { merge: true }))
const { 'bridge-a': first, 'bridge-b': second, 'bridge-c': third, db, balancer, prometheus, grafana } = services
const bridges = [first, second, third]
const config = JSON.parse(textOf(`${example}/reply.json`))
const dockerfile = textOf('packages/bridge/Dockerfile')
const page = textOf('docs/scale.md')
const caddyfile = textOf(`${example}/Caddyfile`)

/** The names of the environment variables that a value of a config reads its secrets from. */
const envNamesIn = (value: unknown): readonly string[] =>
  [...JSON.stringify(value).matchAll(/\{"env":"(\w+)"\}/g)].map(([, name = '']) => name)

/** The names of the volumes that compose keeps for services. */
const namedVolumesOf = (given: readonly object[]): readonly string[] =>
  given
    .flatMap((one) => ('volumes' in one ? z.array(z.string()).parse(one.volumes) : []))
    .flatMap((one) => (/^[./]/.test(one) ? [] : (one.split(':')[0] ?? [])))

/** The names in `${…}` of a compose file. */
const variablesIn = (value: unknown): readonly string[] => [
  ...new Set([...JSON.stringify(value).matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name)),
]

test('the bridges of the example differ in their port alone, so they have one image, one config and one state', () => {
  const alike = bridges.map(({ ports: _, ...others }) => others)
  expect(alike).toEqual([alike[0], alike[0], alike[0]])
  expect(new Set(bridges.map(({ ports }) => ports[0].split(':')[1])).size).toBe(3)
})

test('the image of the example is built from the Dockerfile, as its package has it, with the config beside it', () => {
  const [, path = ''] = /^node_modules\/@reply\/(.*)$/.exec(first.build.dockerfile) ?? []
  expect(existsSync(fileOf(`packages/${path}`))).toBe(true)
  expect(JSON.parse(textOf('packages/bridge/package.json')).files).toContain('Dockerfile')
  expect(JSON.parse(textOf('packages/postgres/package.json')).files).toContain('example')
  expect(dockerfile).toMatch(/^COPY .*reply\.json /m)
})

test('the config of the example is valid, and its secrets are those that compose sets', () => {
  const { channels, state } = parseConfig(config)
  expect(parseState(bridgeStore.schema, state)).toEqual(config.state)
  for (const [name, entry] of Object.entries(channels)) parseChannel(bridgeChannel.schema, name, entry)
  expect(envNamesIn(config).toSorted()).toEqual(Object.keys(first.environment).toSorted())
})

test('the address of the state is that of the database', () => {
  const [, user, variable, host, port, name] =
    /^postgres:\/\/(\w+):\$\{(\w+):\?[^}]+\}@(\w+):(\d+)\/(\w+)$/.exec(first.environment.DATABASE_URL ?? '') ?? []
  const { POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD = '' } = db.environment
  expect([user, name, host, port]).toEqual([POSTGRES_USER, POSTGRES_DB, 'db', '5432'])
  expect(variablesIn(POSTGRES_PASSWORD)).toEqual([variable])
  expect(db.healthcheck.test.slice(0, 2)).toEqual(['CMD', 'pg_isready'])
  expect(db.healthcheck.test).toEqual(expect.arrayContaining([`--username=${user}`, `--dbname=${name}`]))
  expect(namedVolumesOf(Object.values(services))).toEqual(Object.keys(volumes))
})

test('what the bridges need is there: the database, the host of the server, and time to stop', () => {
  expect(Object.keys(first.depends_on)).toEqual(['db'])
  const { hostname } = new URL(config.servers.home.url)
  expect(first.extra_hosts).toEqual([`${hostname}:host-gateway`])
  // A stop takes up to 10 s, and if the database hangs, 1 s for what is left over, 1 s for the lease, and 2 s to close the store.
  expect(Number.parseInt(first.stop_grace_period, 10)).toBeGreaterThan(14)
})

test('the image is healthy while it waits or stops, at the port that compose publishes', () => {
  const [, port, path] = /^HEALTHCHECK .*http:\/\/127\.0\.0\.1:(\d+)(\/\w+)/m.exec(dockerfile) ?? []
  // `/readyz` is 503 then.
  expect(path).toBe('/healthz')
  for (const { ports } of bridges) expect(ports[0].split(':')[2]).toBe(port)
  expect(dockerfile).toContain(`"--listen", "0.0.0.0:${port}"`)
})

test('the load balancer sends webhooks to all bridges that are ready, and nothing else', () => {
  const [, port] = first.ports[0].split(/:(?=\d+$)/)
  const [, path = '', targets = '', block = ''] =
    /handle (\S+) \{\s*reverse_proxy (.*) \{([\s\S]*?)\n\t\t\}/.exec(caddyfile) ?? []
  expect(path).toBe('/webhooks/*')
  expect(targets.split(' ')).toEqual(
    Object.keys(services).flatMap((name) => (name.startsWith('bridge-') ? [`${name}:${port}`] : [])),
  )
  expect(block).toContain('health_uri /readyz\n')
  // A bridge refuses requests for its health by a name that it does not allow.
  expect(block).toMatch(/health_headers \{\s*Host localhost\s*\}/)
  expect(caddyfile.trimEnd()).toMatch(/\trespond 404\n\}$/)
  expect(caddyfile).toContain('{$DOMAIN} {')
  const [, ownPort] = /:-http:\/\/:(\d+)\}$/.exec(balancer.environment.DOMAIN) ?? []
  expect(balancer.ports[1].split(':')[2]).toBe(ownPort)
})

test('Prometheus finds the bridges by the name that they share, and Grafana reads it and shows the dashboard', () => {
  const [{ dns_sd_configs: lookups }] = z
    .looseObject({
      scrape_configs: z.tuple([
        z.strictObject({
          job_name: z.string(),
          dns_sd_configs: z.tuple([
            z.strictObject({
              names: z.array(z.string()),
              type: z.literal('A'),
              port: z.int(),
              refresh_interval: z.string(),
            }),
          ]),
        }),
      ]),
    })
    .parse(parse(textOf(`${example}/prometheus.yaml`))).scrape_configs
  expect(lookups[0].names).toEqual(first.networks.default.aliases)
  expect(`${lookups[0].port}`).toBe(first.ports[0].split(':')[2])
  const [source] = z
    .looseObject({ datasources: z.tuple([z.looseObject({ type: z.literal('prometheus'), url: z.url() })]) })
    .parse(parse(textOf(`${example}/grafana-source.yaml`))).datasources
  expect(Object.keys(services)).toContain(new URL(source.url).hostname)
  const mounted = grafana.volumes.map((one) => one.split(':')[1])
  expect(mounted).toContain(grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH)
})

test('each file that a service of the example mounts is there, for reading alone', () => {
  const mounts = [balancer, prometheus, grafana].flatMap((one) =>
    one.volumes.filter((volume) => volume.startsWith('./')),
  )
  expect(mounts).toHaveLength(4)
  for (const mount of mounts) {
    const [name = '', , mode] = mount.split(':')
    expect([existsSync(fileOf(`${example}/${name}`)), mode]).toEqual([true, 'ro'])
  }
})

test('the page about several machines names the packages, variables, ports and services of the example', () => {
  const [, packages = ''] = /^npm install --ignore-scripts (.*)$/m.exec(page) ?? []
  const types = [...Object.values(config.channels), config.state].map(({ type }) => `@reply/${type}`)
  expect(packages.split(' ')).toEqual(expect.arrayContaining(['@reply/console', '@reply/bridge', ...types, 'grammy']))
  expect(page).toContain(`cp node_modules/@reply/postgres/${example.split('/').at(-1)}/* .`)
  const written = [...page.matchAll(/^(?:echo ")?([A-Z_]+)=.*\.env$/gm)].map(([, name]) => name)
  expect(written.toSorted()).toEqual([...variablesIn([first, db])].toSorted())
  for (const { ports } of bridges) expect(page).toContain(`curl http://127.0.0.1:${ports[0].split(':')[1]}/readyz`)
  expect(page).toContain(`http://127.0.0.1:${grafana.ports[0].split(':')[1]}`)
  const profiles = [...page.matchAll(/docker compose --profile (\w+) up/g)].map(([, name]) => name)
  expect(new Set(profiles)).toEqual(new Set([...balancer.profiles, ...grafana.profiles]))
  const named = [...page.matchAll(/^docker compose (?:kill|start|stop|exec) (\S+)/gm)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(0)
  expect(Object.keys(services)).toEqual(expect.arrayContaining(named))
})
