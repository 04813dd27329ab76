import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import * as z from 'zod'
import type { BridgeEvent } from '../src/events/event.ts'
import { bridgeMetrics } from '../src/events/metrics.ts'

const fileOf = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url))
const textOf = (name: string): string => readFileSync(fileOf(name), 'utf8')

const source = z.strictObject({ type: z.literal('prometheus'), uid: z.literal('$datasource') })
const panel = z.looseObject({
  id: z.int(),
  type: z.enum(['row', 'stat', 'timeseries']),
  title: z.string().min(1),
  gridPos: z.strictObject({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  datasource: source.optional(),
  targets: z.array(z.looseObject({ expr: z.string().min(1), refId: z.string(), datasource: source })).default([]),
})

/** The fields of Grafana's dashboard model that an import needs: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/ */
const { panels, templating } = z
  .looseObject({
    title: z.string(),
    uid: z.string(),
    schemaVersion: z.int(),
    templating: z.strictObject({
      list: z.array(z.looseObject({ name: z.string(), type: z.string(), query: z.string() })),
    }),
    panels: z.array(panel),
  })
  .parse(JSON.parse(textOf('packages/postgres/example/grafana-dashboard.json')))
const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))

/** One event for each metric. */
const place = { at: 1000, channel: 'tg', chat: '7' } as const
const ask = {
  ...place,
  type: 'ask',
  started: 'elsewhere',
  askType: 'question',
  requestID: 'a',
  executionID: 'abc',
  sessionID: 'ses_1',
} as const
const ids = { executionID: 'abc', actorID: '1', messageID: '5', server: 'home' } as const
const run = { ...place, type: 'run', started: 'chat', ...ids } as const
const events: readonly BridgeEvent[] = [
  { type: 'channel', at: 1000, channel: 'tg', status: 'receiving' },
  { ...place, type: 'inbound', kind: 'text', actorID: '1', verdict: 'postponed' },
  { ...run, phase: 'ended', outcome: 'completed', times: { firstByteMs: 1 } },
  { ...ask, phase: 'answered', waitedMs: 1 },
  { type: 'unshown', at: 1000, server: 'home', sessionID: 'ses_1', askType: 'question', requestID: 'a' },
  {
    ...{ ...place, type: 'delivery', started: 'chat', executionID: 'abc', shown: 1, undelivered: 1, doubtful: 1 },
    ...{ calls: 1, rateLimited: 1, firstShownMs: 1, deliveredMs: 1 },
  },
  { ...place, type: 'notice', kind: 'final', to: 'phone', executionID: 'abc', result: 'sent', doubtful: 1 },
  { ...place, type: 'transcription', result: 'understood', tookMs: 1 },
  { type: 'failures', at: 1000, deliveries: 1, prompts: 1, rows: 1, poison: 1 },
  { type: 'member', at: 1000, status: 'joined' },
  {
    ...{ type: 'beat', at: 1000, isLate: true, members: 1, shards: 64, restoring: 0, oldestMs: 0 },
    budgets: [{ channel: 'tg', budget: 'calls', share: 1, total: 1 }],
  },
]

/** Resolves with the labels of each series that the bridge exports, by its name. */
async function exported(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { observe, text } = bridgeMetrics()
  for (const event of events) observe(event)
  const series = new Map<string, Set<string>>()
  for (const [, name = '', labels = ''] of (await text()).matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const found = series.get(name) ?? new Set()
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) found.add(label)
    series.set(name, found)
  }
  return series
}

/** The names of the bridge's series in a text. */
const namesIn = (text: string): readonly string[] => text.match(/\breply_bridge_\w+/g) ?? []

/** The labels that a query filters or groups by. */
function labelsIn(query: string): readonly string[] {
  const filters = [...query.matchAll(/\{([^}]*)\}/g)].flatMap(([, inner = '']) => inner.match(/\w+(?=\s*[!=])/g) ?? [])
  const groups = [...query.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, inner = '']) => inner.match(/\w+/g) ?? [])
  return [...filters, ...groups]
}

test('each query of the dashboard asks for what the bridge exports, by labels that it has', async () => {
  const series = await exported()
  expect(queries.length).toBeGreaterThan(30)
  for (const query of queries) {
    const names = namesIn(query)
    expect(names.length, query).toBeGreaterThan(0)
    for (const name of names) {
      expect([...series.keys()], query).toContain(name)
      // Prometheus adds `instance`, and has no other label of its own here.
      expect([...(series.get(name) ?? []), 'instance'], query).toEqual(expect.arrayContaining([...labelsIn(query)]))
    }
  }
})

test('what a query does with a series fits its type', async () => {
  const { text } = bridgeMetrics()
  const types = new Map([...(await text()).matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]))
  for (const query of queries) {
    const isGrowth = /\b(?:rate|increase)\(/.test(query)
    for (const name of namesIn(query)) {
      const type = types.get(name) ?? types.get(name.replace(/_bucket$/, ''))
      expect([type !== 'gauge', type === 'histogram'], query).toEqual([isGrowth, query.includes('histogram_quantile(')])
    }
    // Buckets are added up by their bound, also those of several bridges.
    if (query.includes('histogram_quantile(')) expect(labelsIn(query), query).toContain('le')
  }
})

test('the dashboard shows every metric of a bridge', async () => {
  const { text } = bridgeMetrics()
  const all = [...(await text()).matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name)
  const shown = new Set(queries.flatMap(namesIn).map((name) => name.replace(/_bucket$/, '')))
  expect([...shown].toSorted()).toEqual(all.toSorted())
})

test('its panels have an id each, overlap nowhere, and use the source that one chooses', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)}/${y + Math.floor(index / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  for (const {
    gridPos: { x, w },
  } of panels)
    expect(x + w).toBeLessThanOrEqual(24)
  for (const { type, datasource, targets } of panels)
    if (type !== 'row') expect([datasource?.uid, targets.length > 0]).toEqual(['$datasource', true])
  expect(templating.list).toMatchObject([{ name: 'datasource', type: 'datasource', query: 'prometheus' }])
})

test.each(['docs/scale.md', 'docs/operation.md'])('%s names only metrics that the bridge exports', async (name) => {
  const series = await exported()
  const named = namesIn(textOf(name)).filter((one) => one !== 'reply_bridge_')
  expect(named.length).toBeGreaterThan(0)
  for (const one of named) expect([...series.keys()]).toContain(one)
})

test('docs/operation.md lists every metric', async () => {
  const page = textOf('docs/operation.md')
  const types = [...(await bridgeMetrics().text()).matchAll(/^# TYPE reply_bridge_(\w+) /gm)]
  for (const [, name = ''] of types) expect(page).toContain(`\`${name}\``)
})
