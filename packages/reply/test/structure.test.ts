import { describe, expect, test } from 'vitest'
import { doorsOf, importsOf, oddWords, packages, peersOf, type SourceFile, sourcesIn } from './source.ts'

const sources = sourcesIn('src')
const tests = sourcesIn('test')

/** A channel imports the core and the sink. */
const channelImports: readonly string[] = ['@reply/core', '@reply/sink']

/** The workspace packages that a package may import. Packages that are not listed are channels. */
const importsByPackage: Readonly<Record<string, readonly string[]>> = {
  reply: [],
  sink: ['@reply/core'],
  ntfy: channelImports,
  bridge: ['@reply/core', '@reply/sink', '@reply/web'],
  postgres: ['@reply/core', '@reply/sink', '@reply/bridge'],
  console: [
    '@reply/core',
    '@reply/sink',
    '@reply/web',
    '@reply/agents',
    '@reply/bridge',
    '@reply/testing',
    // What `reply inspect` plays recordings to.
    '@reply/telegram',
    '@reply/slack',
    '@reply/discord',
    '@reply/whatsapp',
  ],
  agents: ['@reply/core', '@reply/tools'],
  testing: [],
  tools: ['@reply/core'],
  ui: ['@reply/core'],
  'ag-ui': ['@reply/core'],
  web: ['@reply/core'],
  bench: packages.map((name) => (name === 'reply' ? '@reply/core' : `@reply/${name}`)),
}

const isChannel = (name: string): boolean => !(name in importsByPackage)

/** The files that may import a dependency. All other code goes through them. */
const homes: Readonly<Record<string, RegExp>> = {
  'eventsource-parser': /^packages\/(reply\/src\/wire\/frames|bench\/src\/floor)\.ts$/,
  mitt: /^packages\/reply\/src\/dispatch\.ts$/,
  zod: /\/src\/([\w-]+\/)*(event|decode|config|inbound)(\/[\w/-]+)?\.ts$|^packages\/sink\/src\/testing\/contract\/bridge\.ts$/,
  '@opencode-ai/sdk': /^packages\/reply\/src\/source\/opencode1\/rest\.ts$/,
  '@noble/hashes': /^packages\/(reply\/src\/ask\/digest|sink\/src\/asks\/token)\.ts$/,
  marked: /^packages\/(?:sink\/src\/markdown\/lexer\/|testing\/src\/telegram\/rich\.ts$)/,
  parse5: /^packages\/testing\/src\/telegram\/rich\.ts$/,
  'string-width': /^packages\/console\/src\/format\/styled-line\.ts$/,
  pino: /^packages\/bridge\/src\/events\/log\.ts$/,
  'prom-client': /^packages\/bridge\/src\/events\/metrics\.ts$/,
  '@opentelemetry/api': /^packages\/bridge\/src\/events\/tracing\.ts$/,
  pg: /^packages\/(?:postgres|testing)\/src\//,
  libsql: /^packages\/bridge\/src\/store\/sqlite\/database\.ts$/,
  '@clack/prompts': /^packages\/console\/src\/cli\/commands\/bridge-init\.ts$/,
  commander: /^packages\/console\/src\/cli\/(main|program)\.ts$/,
  grammy: /^packages\/bench\/src\/delivery\/(platforms|paced-platforms)\.ts$/,
  '@agentclientprotocol/sdk': /^packages\/agents\/src\/acp\//,
  'string-argv': /^packages\/agents\/src\/agent-source\.ts$/,
  '@modelcontextprotocol/sdk': /^packages\/tools\/src\/(main|serve-tools)\.ts$/,
  ws: /^packages\/(testing\/src\/platform\/socket|agents\/src\/process\/json-socket)\.ts$/,
  esbuild: /^packages\/bench\/src\/(goals\/command-and-size|web\/stage)\.ts$/,
  'playwright-core': /^packages\/bench\/src\/web\/stage\.ts$/,
  ai: /^packages\/bench\/src\/goals\/stream\.ts$/,
  chat: /^packages\/bench\/src\/delivery\/platforms\.ts$/,
  '@chat-adapter/telegram': /^packages\/bench\/src\/delivery\/platforms\.ts$/,
  '@chat-adapter/slack': /^packages\/bench\/src\/delivery\/platforms\.ts$/,
  '@chat-adapter/discord': /^packages\/bench\/src\/delivery\/platforms\.ts$/,
  '@chat-adapter/whatsapp': /^packages\/bench\/src\/delivery\/platforms\.ts$/,
  '@slack/web-api': /^packages\/bench\/src\/delivery\/(platforms|paced-platforms)\.ts$/,
  '@discordjs/rest': /^packages\/bench\/src\/delivery\/(platforms|paced-platforms)\.ts$/,
  '@chat-adapter/state-memory': /^packages\/bench\/src\/delivery\/platforms\.ts$/,
}

/** Where outside input enters, and a cast states what was checked or is trusted. */
const isEdge = ({ path }: SourceFile): boolean => /\/src\/([\w-]+\/)*(decode|config|inbound)(\/|\.)/.test(path)

/** Casts beyond the edge, by file, with their reasons. */
const castsElsewhere: Readonly<Record<string, string>> = {
  'packages/tools/src/serve-tools.ts':
    "the SDK's transport does not fit its own interface under exactOptionalPropertyTypes",
  'packages/bench/src/delivery/platforms.ts':
    "the peer's own types do not fit each other under exactOptionalPropertyTypes",
  'packages/bench/src/delivery/fast.ts': 'a Date takes its arguments in many ways, and all are passed on',
  'packages/testing/src/binary.ts': "reads npm's own manifest",
  'packages/testing/src/recordings.ts': 'reads what writeRecording wrote',
  'packages/testing/src/recorded/http.ts': "Node's two kinds of web streams",
}

const where = (files: readonly SourceFile[]): readonly string[] => files.map(({ path }) => path)
const withCode = (pattern: RegExp): readonly SourceFile[] => sources.filter(({ code }) => pattern.test(code))

/** A channel may import its platform's client anywhere. */
function isOwnClient(name: string, dependency: string): boolean {
  return isChannel(name) && peersOf(name).includes(dependency)
}

function dependencyOf(from: string): string | undefined {
  return /^(\.|node:|@reply\/)/.test(from) ? undefined : packageOf(from)
}

/** `@reply/sink` for `@reply/sink/channel`. */
function packageOf(from: string): string {
  return from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/')
}

describe('imports', () => {
  test.each(sources.map((file) => [file.path, file] as const))('of %s go where they may', (path, file) => {
    const allowed = importsByPackage[file.package] ?? channelImports
    for (const { from } of importsOf(file)) {
      if (from.startsWith('@reply/')) expect(allowed).toContain(packageOf(from))
      if (from.startsWith('.')) expect(from).toMatch(/\.ts$/)
      if (from.startsWith('.'))
        expect(new URL(from, `file:///${path}`).pathname).toMatch(`/packages/${file.package}/src/`)
      const dependency = dependencyOf(from)
      if (dependency && !isOwnClient(file.package, dependency))
        expect(path).toMatch(homes[dependency] ?? `a home for ${dependency}`)
    }
  })

  test('the testing package is only imported by the benchmarks and the demo', () => {
    const knowing = sources.filter((file) => importsOf(file).some(({ from }) => from.startsWith('@reply/testing')))
    for (const path of where(knowing))
      expect(path).toMatch(/^packages\/(bench\/|console\/src\/cli\/commands\/demo\.ts$)/)
  })

  test('the console loads everything except the core and the sink on demand', () => {
    const ours = sources.filter((file) => file.package === 'console')
    const early = ours.filter(({ text }) =>
      /^import (?!type).* from '@reply\/(?!(core(\/(source|show|internal))?|sink(\/internal)?)')/m.test(text),
    )
    expect(where(early)).toEqual([])
  })

  test('every dependency that has a home is used there', () => {
    const used = new Set(sources.flatMap((file) => importsOf(file).map(({ from }) => dependencyOf(from))))
    for (const dependency of Object.keys(homes)) expect(used).toContain(dependency)
  })
})

describe('a source file', () => {
  test('exports names, one by one, and none by default', () => {
    expect(where(withCode(/^export (\*|default\b)/m))).toEqual([])
  })

  test('speaks plainly in its comments, strings and test titles', () => {
    // What the scripted models say is part of the recordings; the fakes repeat the vendors' own error texts.
    const quoting = /^packages\/testing\/src\/(?:scenarios|telegram|slack|discord|whatsapp)\//
    const spoken = [
      ...[...sources, ...tests].map(({ path, comments }) => ({ path, said: comments })),
      ...tests.map(({ path, titles }) => ({ path, said: titles })),
      ...sources.filter(({ path }) => !quoting.test(path)).map(({ path, strings }) => ({ path, said: strings })),
    ]
    const oddities = spoken.flatMap(({ path, said }) =>
      said
        .filter((words) => oddWords.test(words.replaceAll(/\s*\n\s*(?:\*|\/\/)?\s*/g, ' ')))
        .map((words) => `${path}: ${words}`),
    )
    expect(oddities).toEqual([])
  })

  test('has plain words in its names', () => {
    const odd = /\w*(?:nobody|somebody|anybody|whoever)\w*/i
    const names = [...sources, ...tests].map(({ path, code }) => `${path}: ${odd.exec(code)?.[0] ?? ''}`)
    expect(names.filter((name) => !name.endsWith(': '))).toEqual([])
  })

  test('writes nothing to the console', () => {
    expect(where(withCode(/\bconsole\s*\./))).toEqual([])
  })

  test('knows no any and no assertion that something is there', () => {
    expect(where(withCode(/(?<![.\w])any\b(?!\.)(?=\s*[[\]>,;)=|&}\n])/).filter((file) => !isEdge(file)))).toEqual([])
    expect(where(withCode(/[\w)\]]!(?=[.[;,)\]\n ]*(?:[.[;,)\]]|\n))(?!=)/))).toEqual([])
  })

  test('casts at the edge alone', () => {
    const casting = withCode(/\bas (?!const\b)[\w{([]/).filter((file) => !isEdge(file))
    expect(where(casting).toSorted()).toEqual(Object.keys(castsElsewhere).toSorted())
  })
})

describe('a channel', () => {
  const contracts = ['portContract', 'inboundContract', 'bridgeChannelContract'] as const

  test.each(packages.filter(isChannel).flatMap((name) => contracts.map((contract) => [name, contract] as const)))(
    '%s keeps the %s',
    (name, contract) => {
      const own = tests.filter((file) => file.package === name && file.path.endsWith('.test.ts'))
      const isCalled = new RegExp(`\\b${contract}\\(`)
      const isImported = new RegExp(`^import \\{[^}]*\\b${contract}\\b[^}]*\\} from '@reply/sink/testing'`, 'm')
      expect(where(own.filter(({ code, text }) => isCalled.test(code) && isImported.test(text)))).not.toEqual([])
    },
  )

  test('that the contract is tried on does so, too', () => {
    expect(where(tests.filter(({ code }) => /\bportContract\(/.test(code)))).toContain(
      'packages/sink/test/contract.test.ts',
    )
  })
})

describe('a public name', () => {
  const doors = packages.flatMap((name) => doorsOf(name).map((door) => [door.id, door] as const))

  test.each(doors)('of %s comes through a file that only exports from elsewhere', (_, { text }) => {
    expect(text.replaceAll(/^export (type )?\{[^}]*\} from '(\.\/[\w/-]+\.ts|@reply\/[\w/]+)'$/gm, '').trim()).toBe('')
  })

  // Adding a name is a promise and removing one breaks it: `npx vitest run structure -u` writes the lists anew.
  test.each(doors)('of %s is listed', async (id, { text }) => {
    const lists = [...text.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) => list.split(','))
    const names = lists.map((one) => one.trim().replace(/^type /, '')).filter((one) => one !== '')
    await expect(`${names.toSorted().join('\n')}\n`).toMatchFileSnapshot(`exports/${id.replaceAll('/', '.')}.txt`)
  })
})
