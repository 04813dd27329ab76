import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '@reply/core'
import { bridgeChannel as discord } from '@reply/discord/bridge'
import { noticeChannel } from '@reply/ntfy/bridge'
import { bridgeStore } from '@reply/postgres/bridge'
import { bridgeChannel as slack } from '@reply/slack/bridge'
import { bridgeChannel } from '@reply/telegram/bridge'
import { bridgeChannel as whatsapp } from '@reply/whatsapp/bridge'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig, secretsOf } from '../src/config/load.ts'
import { configJsonSchema, parseChannel, parseConfig } from '../src/config/parse.ts'
import { connectServer } from '../src/servers/connect.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-config-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const channels = [discord, slack, bridgeChannel, whatsapp, noticeChannel]

const least = {
  servers: { home: { url: 'http://127.0.0.1:4096' } },
  channels: { tg: { type: 'telegram', token: { env: 'TOKEN' } } },
}

const inShop = { url: 'http://127.0.0.1:4096', directory: '/srv/shop' }
const inWiki = { url: 'http://127.0.0.1:4096', directory: '/srv/wiki', homeChat: 'tg:-5' }

/** What the fault list says about a changed config. */
function faultsOf(change: object): string {
  try {
    parseConfig({ ...least, ...change })
    return 'none'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describe('a config', () => {
  test('has defaults for all that it may leave out', () => {
    expect(parseConfig(least)).toEqual({
      ...least,
      people: {},
      routes: {},
      mirrors: [],
      state: './state',
      router: {
        timeoutMs: 300_000,
        quietMs: 10_000,
        progress: { enabled: true, toolThrottleMs: 5000, heartbeatMs: 60_000 },
        busy: 'queue',
        backlog: 'latest',
        backlogAfterMs: 120_000,
        messagesPerMinute: 20,
        maxTextLength: 50_000,
        maxFileBytes: 20_000_000,
        fileHosts: [],
        receipts: false,
      },
    })
  })

  test.each<[string, object, string]>([
    [
      'a server without an address',
      { servers: { home: { directory: '/shop' } } },
      'servers.home: Set a `url` or an `agent`.',
    ],
    [
      'an agent without a folder',
      { servers: { home: { agent: 'claude' } } },
      'servers.home: Set a `directory` for the agent.',
    ],
    [
      'a home chat without a folder',
      { servers: { home: { url: 'http://127.0.0.1:4096', homeChat: 'tg:1' } } },
      'servers.home: Set a `directory` for `homeChat`: it shows only the sessions of that folder.',
    ],
    [
      'a home chat of an unknown channel',
      { servers: { home: { url: 'http://127.0.0.1:4096', directory: '/shop', homeChat: 'sl:1' } } },
      'servers.home.homeChat: "sl" is not a channel of this config. Use one of these: tg.',
    ],
    [
      'tools for a server that has settings of its own',
      { servers: { home: { url: 'http://127.0.0.1:1', mcpServers: { reply: ['reply-tools'] } } } },
      'servers.home: Remove `mcpServers`: they are for an `agent` that is started.',
    ],
    [
      'a server that is an agent, too',
      { servers: { home: { url: 'ws://127.0.0.1:4500', agent: 'claude', directory: '/shop' } } },
      'servers.home: Remove `url` or `agent`: only a Codex that runs already has both, with "agent": "codex", and an AG-UI agent, with "agent": "ag-ui".',
    ],
    [
      'a Codex that is started, and reached at an address, too',
      { servers: { home: { url: 'ws://127.0.0.1:4500', agent: 'codex -c model="x"', directory: '/shop' } } },
      'servers.home: Remove `url` or `agent`: only a Codex that runs already has both, with "agent": "codex", and an AG-UI agent, with "agent": "ag-ui".',
    ],
    [
      'an address of HTTP for Codex',
      { servers: { home: { url: 'http://127.0.0.1:4500', agent: 'codex', directory: '/shop' } } },
      'servers.home.url: Write the address of `codex app-server --listen`, such as "ws://127.0.0.1:4500". It is "http://127.0.0.1:4500".',
    ],
    [
      'an address of a WebSocket without its agent',
      { servers: { home: { url: 'ws://127.0.0.1:4500' } } },
      'servers.home.url: Write the address of an OpenCode server, such as "http://127.0.0.1:4096", or add "agent": "codex". It is "ws://127.0.0.1:4500".',
    ],
    [
      'a folder relative to what runs elsewhere',
      { servers: { home: { url: 'ws://127.0.0.1:4500', agent: 'codex', directory: 'shop' } } },
      'servers.home.directory: Write the whole path of the folder where the agent runs, such as "/srv/shop". It is "shop".',
    ],
    [
      'a Codex elsewhere without a token',
      { servers: { home: { url: 'ws://10.0.0.5:4500', agent: 'codex', directory: '/shop' } } },
      'servers.home.token: 10.0.0.5 is another computer, so the server needs a token. Set one here and on the server.',
    ],
    [
      'a token of an agent that is started',
      { servers: { home: { agent: 'codex', directory: '/shop', token: { env: 'CODEX_TOKEN' } } } },
      'servers.home: Remove `token`: it is for a Codex or an AG-UI agent at a `url`. An OpenCode server has a `password`.',
    ],
    [
      'a token of an OpenCode server',
      { servers: { home: { url: 'http://127.0.0.1:4096', token: { env: 'CODEX_TOKEN' } } } },
      'servers.home: Remove `token`: it is for a Codex or an AG-UI agent at a `url`. An OpenCode server has a `password`.',
    ],
    [
      'a Codex with a password',
      {
        servers: {
          home: { url: 'ws://127.0.0.1:4500', agent: 'codex', directory: '/shop', password: { env: 'PASSWORD' } },
        },
      },
      'servers.home: Remove `username` and `password`: an agent has none. A Codex or an AG-UI agent at a `url` has a `token`.',
    ],
    [
      'an AG-UI agent without an address',
      { servers: { home: { agent: 'ag-ui', directory: '/shop' } } },
      'servers.home.url: Write the address where the AG-UI agent takes runs, such as "http://127.0.0.1:8000/agent".',
    ],
    [
      'an AG-UI agent elsewhere without a token',
      { servers: { home: { agent: 'ag-ui', url: 'https://agents.example.org/shop' } } },
      'servers.home.token: agents.example.org is another computer, so the server needs a token. Set one here and on the server.',
    ],
    [
      'an AG-UI agent whose other runs should be shown',
      { servers: { home: { agent: 'ag-ui', url: 'http://127.0.0.1:8000/agent', follow: 'all' } } },
      'servers.home: Remove `follow` and `homeChat`: an AG-UI agent does not tell what was started elsewhere.',
    ],
    [
      'kept threads of an OpenCode server',
      { servers: { home: { url: 'http://127.0.0.1:4096', keepsThreads: true } } },
      'servers.home: Remove `keepsThreads`: it is for "agent": "ag-ui".',
    ],
    [
      'an agent with a password',
      { servers: { home: { agent: 'claude', directory: 'shop', password: { env: 'PASSWORD' } } } },
      'servers.home: Remove `username` and `password`: an agent has none.',
    ],
    ['a time below its limit', { router: { timeoutMs: 999 } }, 'router.timeoutMs: Write at least 1000. It is 999.'],
    [
      'a time that no timer takes',
      { router: { askTimeoutMs: 2 ** 31 } },
      'router.askTimeoutMs: Write at most 2147483647. It is 2147483648.',
    ],
    [
      'an id that no platform gives',
      { people: { ann: { ids: ['tg: 1'], may: [] } } },
      'people.ann.ids.0: Write it as <channel>:<id on the platform>, as in "tg:123".',
    ],
    ['a nested one', { router: { progress: { heartbeatMs: 9999 } } }, 'router.progress.heartbeatMs'],
    [
      'an unknown field',
      { router: { timeout: 5 } },
      'router: It has no field "timeout". Correct the name, or remove it.',
    ],
    [
      'a person of an unknown channel',
      { people: { ann: { ids: ['sl:U1'], may: [] } } },
      'people.ann.ids.0: "sl:U1" names an unknown channel. Use one of these: tg.',
    ],
    ['a transcriber without a program', { transcribe: {} }, 'transcribe: Set either `command` or `url`.'],
    [
      'a transcriber that is a service, too',
      { transcribe: { command: ['cat'], url: 'http://127.0.0.1:9', model: 'm' } },
      'transcribe: Set either `command` or `url`.',
    ],
    [
      'a service without a model',
      { transcribe: { url: 'http://127.0.0.1:9' } },
      'transcribe: Set the `model` of the service.',
    ],
    [
      'a program with a key',
      { transcribe: { command: ['cat'], key: { env: 'KEY' } } },
      'transcribe: Remove `key` and `model`: they are for `url`.',
    ],
    [
      'a service with a key in its address',
      { transcribe: { url: 'https://user:swordfish@api.example', model: 'm' } },
      'transcribe.url: Write the address without credentials. Use the field `key` for the key.',
    ],
    [
      'a converter without a result',
      { transcribe: { command: ['cat'], convert: ['ffmpeg', '-i', '{file}'] } },
      'transcribe.convert: Write `{file}` where the path of the audio belongs, and `{wav}` where that of the result belongs.',
    ],
    [
      'a transcriber as a command line',
      { transcribe: { command: 'whisper-cli -f' } },
      'transcribe.command: Write the program and its arguments as a list, for example ["whisper-cli", "-f", "{file}"].',
    ],
    [
      'an id of two people',
      { people: { ann: { ids: ['tg:1'], may: [] }, bob: { ids: ['tg:1'], may: [] } } },
      'people.bob.ids.0: "tg:1" is also an id of ann.',
    ],
    [
      'an id without a channel',
      { people: { ann: { ids: ['123'], may: [] } } },
      'Write it as <channel>:<id on the platform>',
    ],
    [
      'a route to an unknown server',
      { routes: { tg: 'work' } },
      'routes.tg: "work" is not a server of this config. Use one of these: home.',
    ],
    [
      'a server elsewhere without a password',
      { servers: { home: { url: 'http://10.0.0.5:4096' } } },
      'servers.home.password: 10.0.0.5 is another computer, so the server needs a password. Set one here and on the server.',
    ],
    [
      'a mirror of a chat that is none',
      { mirrors: [['tg:1', 'sl:C1']] },
      'mirrors.0: "sl" is not a channel of this config. Use one of these: tg.',
    ],
    [
      'a chat with two mirrors',
      {
        mirrors: [
          ['tg:1', 'tg:2'],
          ['tg:2', 'tg:3'],
        ],
      },
      'mirrors.1: "tg:2" is listed twice. List each chat once.',
    ],
    [
      'mirrors on two servers',
      {
        servers: { home: { url: 'http://127.0.0.1:4096' }, work: { url: 'http://127.0.0.1:4097' } },
        routes: { 'tg:1': 'home', tg: 'work' },
        mirrors: [['tg:1', 'tg:2']],
      },
      'mirrors.0: its chats use different servers in `routes`. Use one server for all of them.',
    ],
    [
      'several servers without a route',
      { servers: { home: { url: 'http://127.0.0.1:4096' }, work: { url: 'http://127.0.0.1:4097' } } },
      'routes: with several servers (home, work), each chat needs one. Write { "*": "home" }, or give each server a chat of its own as `homeChat`.',
    ],
    [
      'a policy for runs that no one can start elsewhere',
      { servers: { home: { agent: 'claude', directory: 'shop', follow: 'all' } } },
      'servers.home.follow: Remove it: the bridge starts this agent, which has no other clients, so nothing is started elsewhere there.',
    ],
    [
      'a whole server beside a folder of it',
      { servers: { all: { url: 'http://127.0.0.1:4096/' }, shop: inShop }, routes: { '*': 'all' } },
      'servers.shop: It has the sessions of all, too, so two chats could show the same run. Remove one of them, or give each a `directory` of its own.',
    ],
    [
      'the same folder twice',
      { servers: { shop: inShop, again: { ...inShop, directory: '/srv/shop/' } }, routes: { '*': 'shop' } },
      'servers.again: It has the sessions of shop, too',
    ],
    [
      'a home chat with a route to another server',
      { servers: { shop: inShop, wiki: inWiki }, routes: { 'tg:-5': 'shop' } },
      'servers.wiki.homeChat: "tg:-5" uses shop in `routes`, so an answer to a message of wiki would reach shop. Remove that route, or choose another chat.',
    ],
    [
      'a chat that is the home of two servers',
      { servers: { shop: { ...inShop, homeChat: 'tg:-5' }, wiki: inWiki } },
      'servers.wiki.homeChat: "tg:-5" belongs to shop as its `homeChat`, and a chat uses one server. Choose another chat, or a topic of a group for each server.',
    ],
    [
      'two chats that mirror each other as homes of two servers',
      { servers: { shop: { ...inShop, homeChat: 'tg:1' }, wiki: inWiki }, mirrors: [['tg:1', 'tg:-5']] },
      'servers.wiki.homeChat: "tg:-5" belongs to shop as its `homeChat`',
    ],
    [
      'a field that is missing',
      { people: { ann: { ids: [] } } },
      'people.ann.may: It is missing. Write a list: [ … ].',
    ],
    ['a field of another kind', { router: { receipts: 'no' } }, 'router.receipts: Write true or false. It is "no".'],
    ['a fraction', { router: { timeoutMs: 1500.5 } }, 'router.timeoutMs: Write a whole number. It is 1500.5.'],
    ['no server', { servers: {} }, 'servers: Add at least one server.'],
    [
      'an address that is none',
      { servers: { home: { url: 'localhost' } } },
      'servers.home.url: Write an address such as "http://127.0.0.1:4096". It is "localhost".',
    ],
    [
      'an address of another kind',
      { servers: { home: { url: 4096 } } },
      'servers.home.url: Write an address such as "http://127.0.0.1:4096". It is 4096.',
    ],
    [
      'a way of being busy that is none',
      { router: { busy: { tg: 'wait' } } },
      'router.busy: Write `queue`, `steer` or `interrupt`, or an object with one of these for each chat.',
    ],
    [
      'a password from two places',
      { servers: { home: { url: 'http://127.0.0.1:4096', password: { env: 'NAME', file: 'path' } } } },
      'servers.home.password: Write either { "env": "NAME" } or { "file": "path" }.',
    ],
    [
      'a state that is neither a folder nor an object with a type',
      { state: { folder: './state' } },
      'state: Write a folder such as "./state", or an object with a `type`, for example { "type": "postgres", "url": { "env": "DATABASE_URL" } }.',
    ],
    ['a state in a folder without a name', { state: '' }, 'state: Write at least 1 character. It is "".'],
    [
      'an address in place of a folder',
      { state: 'postgres://reply:hunter2@db/reply' },
      'state: It is an address, not a folder. Write { "type": "postgres", "url": { "env": "DATABASE_URL" } }.',
    ],
  ])('names the path, the value and the cure of %s', (_, change, fault) => {
    expect(faultsOf(change)).toContain(fault)
  })

  test('never shows a secret that was written into it', () => {
    const faults = faultsOf({ servers: { home: { url: 'http://127.0.0.1:4096', password: 'hunter2' } } })
    expect(faults).toContain('servers.home.password')
    expect(faults).toContain('{ "env": "NAME" }')
    expect(faults).not.toContain('hunter2')
  })

  test('names the faults of a channel in the same way, and never its token', () => {
    const entry = { type: 'telegram', token: '1:abc', updates: 'sometimes' }
    const faults = ((): string => {
      try {
        parseChannel(bridgeChannel.schema, 'tg', entry)
        return 'none'
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    })()
    expect(faults).toContain('channels.tg.updates')
    expect(faults).toContain('It is "sometimes".')
    expect(faults).toContain('channels.tg.token')
    expect(faults).toContain('{ "env": "NAME" }')
    expect(faults).not.toContain('1:abc')
  })

  test('repeats no secret that stands in the wrong place', () => {
    const pasted = (): unknown =>
      parseChannel(bridgeChannel.schema, 'tg', { type: 'telegram', token: { env: '1:abc' } })
    expect(pasted).toThrow('Write the name of an environment variable, not the secret.')
    expect(pasted).not.toThrow('1:abc')
    const faults = faultsOf({ servers: { home: { url: 'http://me:abc@127.0.0.1:4096' } } })
    expect(faults).toContain('Use the fields `username` and `password`')
    expect(faults).not.toContain('abc')
  })

  test.each([
    ['http://me:hunter2@10.0.0.5:4096', 'http://***@10.0.0.5:4096'],
    ['ftp://me:hunter2@10.0.0.5/files', 'ftp://***@10.0.0.5/files'],
    ['me:hunter2@10.0.0.5', '***@10.0.0.5'],
    ['http://me:hunter2@else@10.0.0.5 :x', 'http://***@10.0.0.5 :x'],
    ['http://me:hunter2/else@10.0.0.5', 'http://***@10.0.0.5'],
    ['ftp://10.0.0.5/?password=hunter2', 'ftp://10.0.0.5/?***'],
    ['ftp://10.0.0.5/#hunter2', 'ftp://10.0.0.5/?***'],
  ])('shows the address %s without what may be secret', (url, shown) => {
    const faults = faultsOf({ servers: { home: { url } } })
    expect(faults).toContain(`servers.home.url: Write`)
    expect(faults).toContain(`It is "${shown}".`)
    expect(faults).not.toContain('hunter2')
  })

  test.each([
    'postgres://reply:hunter2@db:5432/reply',
    'postgres://reply:hunter2/@:x@db:5432,other:5432/reply',
    'postgres://db/reply?user=reply&password=hunter2',
    'host=db password = hunter2',
    'postgres://db/reply?sslpassword=hunter2',
  ])('refuses a state whose address has a password, and never shows it: %s', (url) => {
    const faults = faultsOf({ state: { type: 'postgres', url } })
    expect(faults).toContain(
      'state.url: It contains a password. Keep secrets out of the config: write { "env": "NAME" } or { "file": "path" }.',
    )
    expect(faults).not.toContain('hunter2')
    expect(faultsOf({ state: url })).toMatch(/state: It is an address, not a folder\. .*$/)
    expect(faultsOf({ state: url })).not.toContain('hunter2')
  })

  test.each(['postgres://db:5432/reply', 'postgres://reply@db/reply?sslmode=require'])(
    'leaves an address without a password to the package of the state: %s',
    (url) => {
      expect(parseConfig({ ...least, state: { type: 'postgres', url } }).state).toEqual({ type: 'postgres', url })
    },
  )

  test('says what a busy chat does: one for all, or by chat', () => {
    const busy = { 'tg:5': 'steer', '*': 'interrupt' }
    expect(parseConfig({ ...least, router: { busy } }).router.busy).toEqual(busy)
    expect(faultsOf({ router: { busy: { none: 'queue' } } })).toContain(
      'router.busy.none: "none" is not a channel of this config.',
    )
    expect(faultsOf({ router: { busy: { tg: 'later' } } })).toContain('router.busy')
  })

  test('has its home chats, and those that mirror them, use their servers, unless `routes` name exactly that chat', () => {
    const routesIn = (change: object) => parseConfig({ ...least, ...change }).routes
    const servers = { shop: inShop, wiki: inWiki, notes: { ...inShop, directory: '/srv/notes', homeChat: 'tg:-5/7' } }
    expect(routesIn({ servers })).toEqual({ 'tg:-5': 'wiki', 'tg:-5/7': 'notes' })
    const routes = { tg: 'shop', '*': 'shop' }
    expect(routesIn({ servers, routes })).toEqual({ ...routes, 'tg:-5': 'wiki', 'tg:-5/7': 'notes' })
    expect(routesIn({ servers, routes, mirrors: [['tg:2', 'tg:-5']] })).toMatchObject({
      'tg:2': 'wiki',
      'tg:-5': 'wiki',
    })
    const again = parseConfig({ ...least, servers, routes })
    expect(parseConfig(again)).toEqual(again)
    // Without routes, a single server has all chats.
    expect(routesIn({ servers: { wiki: inWiki } })).toEqual({})
    expect(routesIn({ servers: { wiki: inWiki }, routes: { 'tg:9': 'wiki' } })).toEqual({
      'tg:9': 'wiki',
      'tg:-5': 'wiki',
    })
  })

  test('that the page about runs that were started elsewhere shows works alone', () => {
    const page = readFileSync(new URL('../../../docs/follow.md', import.meta.url), 'utf8')
    const shown = [...page.matchAll(/^```json\n(.*?)^```/gms)].map(([, text = '']) => JSON.parse(text) as object)
    expect(shown.length).toBeGreaterThan(1)
    for (const config of shown) expect(() => parseConfig({ channels: least.channels, ...config })).not.toThrow()
  })

  test('lists all faults at once', () => {
    const faults = faultsOf({ router: { timeoutMs: 1, busy: 'later' } })
    expect(faults.match(/^- /gm)).toHaveLength(2)
  })

  test('has a JSON Schema for editors, which describes each field and stands in a file', async () => {
    const schema = configJsonSchema(channels, { postgres: bridgeStore })
    await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot('../config.schema.json')
    expect(schema).toMatchObject({ type: 'object', required: ['servers', 'channels'] })
    expect(JSON.stringify(schema)).toContain('Ends a run that makes no progress for this long, in ms.')
  })

  test('has a JSON Schema that agrees with the check, also about the fields of channels', () => {
    const check = new Ajv2020({ formats: { uri: true } }).compile(configJsonSchema(channels, { postgres: bridgeStore }))
    const telegram = { type: 'telegram', token: { env: 'TOKEN' } }
    const whatsapp = { type: 'whatsapp', api: 'baileys', auth: './login', number: '491701234567' }
    expect([telegram, whatsapp, { type: 'other', any: 1 }].map((tg) => check({ ...least, channels: { tg } }))).toEqual([
      true,
      true,
      true,
    ])
    const faulty = [
      { ...telegram, token: '1:abc' },
      { ...telegram, updates: 'sometimes' },
      { ...telegram, tokn: 1 },
      { ...whatsapp, number: 'mine' },
      { ...whatsapp, api: 'web' },
      { token: { env: 'TOKEN' } },
    ]
    expect(faulty.map((tg) => check({ ...least, channels: { tg } }))).toEqual(faulty.map(() => false))
    const [url, agent, directory] = ['http://127.0.0.1:4096', 'claude', 'shop']
    const servers = [
      { url },
      { agent, directory },
      { url, agent, directory },
      { directory },
      { agent, directory, follow: 'all' },
    ]
    expect(servers.map((home) => check({ ...least, servers: { home } }))).toEqual([true, true, false, false, false])
    const running = { url: 'ws://127.0.0.1:4500', agent: 'codex', directory: '/srv/shop', token: { env: 'TOKEN' } }
    const faultyRunning = [{ ...running, url }, { ...running, agent }, { url: running.url }]
    expect([running, ...faultyRunning].map((home) => check({ ...least, servers: { home } }))).toEqual([
      true,
      false,
      false,
      false,
    ])
    const agUi = { url: 'http://127.0.0.1:8000/agent', agent: 'ag-ui', token: { env: 'TOKEN' }, keepsThreads: true }
    const agUis = [agUi, { ...agUi, follow: 'all' }, { ...agUi, url: running.url }, { agent: 'ag-ui' }]
    expect(agUis.map((home) => check({ ...least, servers: { home } }))).toEqual([true, false, false, false])
    const states = ['./state', { type: 'sqlite', folder: './state' }, { type: 'other', any: 1 }]
    expect(states.map((state) => check({ ...least, state }))).toEqual([true, true, true])
    const faultyStates = ['', { folder: './state' }, { type: 'sqlite' }, { type: 'sqlite', folder: 'a', any: 1 }]
    expect(faultyStates.map((state) => check({ ...least, state }))).toEqual([false, false, false, false])
  })
})

const linkTo = (target: string): string => {
  const link = join(mkdtempSync(join(tmpdir(), 'reply-link-')), 'link')
  symlinkSync(target, link)
  return link
}

const repositoryAround = (target: string): string => {
  mkdirSync(join(target, '.git'))
  mkdirSync(join(target, 'project'))
  return join(target, 'project')
}

describe('a config file', () => {
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }

  test('places its state and the files of secrets beside it', () => {
    write('token.txt', ' 1:abc\n')
    const path = write('reply.json', JSON.stringify(least))
    const { state, secret } = loadConfig(path, { NAME: 'from the environment' })
    expect(state).toEqual({ type: 'sqlite', folder: join(folder, 'state') })
    expect(secret({ file: 'token.txt' })).toBe('1:abc')
    expect(secret({ env: 'NAME' })).toBe('from the environment')
  })

  test.each([
    ['the short form', './data'],
    ['the long form', { type: 'sqlite', folder: './data' }],
  ])('places the folder of a SQLite state beside it, in %s', (_, state) => {
    const path = write('reply.json', JSON.stringify({ ...least, state }))
    const loaded = loadConfig(path, {})
    expect(loaded.state).toEqual({ type: 'sqlite', folder: join(folder, 'data') })
    expect(loaded.ownPaths).toEqual([path, join(folder, 'data')])
  })

  test('has no folder for a state elsewhere, whose secret files are its own', () => {
    const state = { type: 'postgres', url: { file: 'database.secret' }, schema: 'reply' }
    const path = write('reply.json', JSON.stringify({ ...least, state }))
    const loaded = loadConfig(path, {})
    expect(loaded.state).toEqual(state)
    expect(loaded.ownPaths).toEqual([path, join(folder, 'database.secret')])
  })

  test.each([
    [{ type: 'sqlite' }, 'state.folder: It is missing. Write a string: "…".'],
    [
      { type: 'sqlite', folder: './a', schema: 'b' },
      'state: It has no field "schema". Correct the name, or remove it.',
    ],
  ])('names the faults of a SQLite state: %j', (state, fault) => {
    const path = write('reply.json', JSON.stringify({ ...least, state }))
    expect(() => loadConfig(path, {})).toThrow(fault)
  })

  test('starts agents beside it, and leaves the directories of servers as they are', () => {
    const servers = {
      home: { agent: 'claude', directory: '/srv/home' },
      laptop: { agent: 'codex', url: 'ws://127.0.0.1:4500', directory: 'C:\\shop', token: { env: 'CODEX_TOKEN' } },
      shop: { agent: 'opencode acp', directory: 'shop' },
    }
    const path = join(folder, 'agents.json')
    const other = { url: 'http://127.0.0.1:4096', directory: 'there' }
    writeFileSync(path, JSON.stringify({ ...least, servers: { ...servers, other }, routes: { '*': 'home' } }))
    expect(loadConfig(path, {}).config.servers).toEqual({
      home: servers.home,
      laptop: servers.laptop,
      shop: { agent: 'opencode acp', directory: join(folder, 'shop') },
      other,
    })
  })

  test.each([
    ['.', 'agents.json'],
    ['..', 'agents.json'],
    ['./state', 'state'],
    ['./keys', 'tg.secret'],
  ])('refuses an agent in the folder %s, where %s is', (directory, found) => {
    const path = join(folder, 'agents.json')
    const channels = { tg: { type: 'telegram', token: { file: 'keys/tg.secret' } } }
    writeFileSync(path, JSON.stringify({ servers: { home: { agent: 'claude', directory } }, channels }))
    expect(() => loadConfig(path, {})).toThrow(
      `can access ${join(realpathSync(folder), found === 'tg.secret' ? 'keys/tg.secret' : found)},`,
    )
  })

  test.each([
    ['the folder of the config', () => folder],
    ['a folder above it', () => dirname(folder)],
    ['a link to it', () => linkTo(folder)],
    ['a folder of the git repository around it', () => repositoryAround(folder)],
    ['the root of the disk', () => '/'],
  ])("refuses a server's directory on this computer that reaches the config: %s", (_, directoryOf) => {
    const servers = { home: { url: 'http://127.0.0.1:4096', directory: directoryOf() } }
    const path = write('reply.json', JSON.stringify({ ...least, servers }))
    expect(() => loadConfig(path, {})).toThrow(/^servers\.home\.directory: .* contains files of the bridge/)
  })

  test('passes directories beside it, and those that are elsewhere', () => {
    mkdirSync(join(folder, 'own'))
    mkdirSync(join(folder, 'own-project'))
    const servers = {
      beside: { url: 'http://127.0.0.1:4096', directory: join(folder, 'own-project') },
      elsewhere: { url: 'http://127.0.0.1:4097', directory: '/a/folder/of/another/computer' },
      windows: { url: 'http://127.0.0.1:4098', directory: 'C:\\project' },
    }
    const path = write('own/reply.json', JSON.stringify({ ...least, servers, routes: { '*': 'beside' } }))
    expect(loadConfig(path, {}).ownPaths).toEqual([path, join(folder, 'own/state')])
  })

  test('keeps the programs and files of `transcribe` out of reach, and finds programs beside the config', () => {
    const transcribe = {
      command: ['./tools/listen', '-m', '/models/base.bin', '-f', '{file}'],
      convert: ['ffmpeg', '-i', '{file}', '{wav}'],
    }
    mkdirSync(join(folder, 'own'))
    const path = write('own/reply.json', JSON.stringify({ ...least, transcribe }))
    const { config, ownPaths } = loadConfig(path, {})
    expect(config.transcribe).toMatchObject({
      command: [join(folder, 'own/tools/listen'), ...transcribe.command.slice(1)],
      convert: transcribe.convert,
    })
    expect(ownPaths).toEqual([path, join(folder, 'own/state'), join(folder, 'own/tools/listen'), '/models/base.bin'])
    const servers = { home: { url: 'http://127.0.0.1:4096', directory: '/models' } }
    write('own/reply.json', JSON.stringify({ ...least, servers, transcribe }))
    expect(() => loadConfig(path, {})).toThrow(/\/models contains files of the bridge/)
  })

  test('refuses a state or a secret behind a link into the directory', () => {
    mkdirSync(join(folder, 'project'))
    mkdirSync(join(folder, 'own'))
    const path = write(
      'own/reply.json',
      JSON.stringify({
        ...least,
        servers: { home: { url: 'http://127.0.0.1:1', directory: join(folder, 'project') } },
      }),
    )
    loadConfig(path, {})
    symlinkSync('../project', join(folder, 'own/state'))
    expect(() => loadConfig(path, {})).toThrow('contains files of the bridge')
  })

  test.each([
    ['the config', 'project/reply.json', 'own/reply.json', 'project/reply.json'],
    ['the folder of the config', 'project/own', 'own', 'project/own/reply.json'],
    ['the state', 'project/state', 'state', 'own/reply.json'],
  ])('refuses a link in the directory that leads to %s: an agent could replace it', (_, link, target, path) => {
    for (const name of ['project', 'own', 'state']) mkdirSync(join(folder, name))
    write('own/reply.json', '')
    symlinkSync(join(folder, target), join(folder, link))
    const servers = { home: { url: 'http://127.0.0.1:1', directory: join(folder, 'project') } }
    const state = link === 'project/state' ? join(folder, link) : join(folder, 'state')
    write(path, JSON.stringify({ ...least, servers, state }))
    expect(() => loadConfig(join(folder, path), {})).toThrow(
      /^servers\.home\.directory: .* contains files of the bridge/,
    )
  })

  test.skipIf(process.platform === 'win32')('refuses secrets that others of the computer can read, and says so', () => {
    const path = write('reply.json', JSON.stringify(least))
    const file = write('token.txt', '1:abc')
    const { secret } = loadConfig(path, {})
    const read = (): string => secret({ file: 'token.txt' })
    // Others get to the file only through its folder.
    chmodSync(folder, 0o755)
    chmodSync(file, 0o600)
    expect(read()).toBe('1:abc')
    for (const [mode, who] of [
      [0o644, 'Every user of this computer'],
      [0o640, 'Its group'],
    ] as const) {
      chmodSync(file, mode)
      expect(read).toThrow(`${who} can read the secret in ${file}. Run "chmod 600" on it`)
    }
    chmodSync(folder, 0o700)
    chmodSync(file, 0o644)
    expect(read()).toBe('1:abc')
  })

  test.skipIf(process.platform === 'win32')('refuses a config that every user of the computer can change', () => {
    const path = write('reply.json', JSON.stringify(least))
    chmodSync(folder, 0o755)
    chmodSync(path, 0o646)
    expect(() => loadConfig(path, {})).toThrow(/^Every user of this computer can change .* Run "chmod o-w" on it\.$/)
    chmodSync(path, 0o664)
    loadConfig(path, {})
  })

  test('says what is missing', () => {
    const { secret } = loadConfig(write('reply.json', JSON.stringify(least)), { BLANK: ' ' })
    expect(() => secret({ env: 'TOKEN' })).toThrow('The environment variable TOKEN is not set.')
    expect(() => secret({ env: 'BLANK' })).toThrow('The environment variable BLANK is not set.')
    expect(() => secret({ file: 'none.txt' })).toThrow('none.txt could not be read')
    expect(() => loadConfig(folder, {})).toThrow(`${folder} could not be read`)
    expect(() => loadConfig(join(folder, 'none.json'), {})).toThrow('Create it with "reply bridge init"')
    const broken = write('bad.json', '{\n  "token": "1:abc"\n  oops')
    expect(() => loadConfig(broken, {})).toThrow(/bad\.json is not JSON: see line 3\.$/)
  })
})

test('a pipe, a folder and a huge file are no config and no secret', () => {
  const pipe = join(folder, 'pipe')
  const huge = join(folder, 'huge')
  execFileSync('mkfifo', ['-m', '600', pipe])
  writeFileSync(huge, ' '.repeat(1_048_577), { mode: 0o600 })
  const secret = secretsOf(folder, {})
  for (const read of [(path: string) => loadConfig(path, {}), (file: string) => secret({ file })]) {
    expect(() => read(pipe)).toThrow(/pipe could not be read: it is not a regular file\.$/)
    expect(() => read(folder)).toThrow(/could not be read: it is not a regular file\.$/)
    expect(() => read(huge)).toThrow(/huge could not be read: it has 1048577 bytes, and the limit is 1048576\.$/)
  }
})

test('programs with tools reach the agent, which refuses them if it has settings of its own', async () => {
  const { servers } = parseConfig({
    servers: { home: { agent: 'claude', directory: '/shop', mcpServers: { reply: ['reply-tools', '--embed'] } } },
    channels: { tg: { type: 'telegram' } },
  })
  const options = { secret: () => '', secretNames: [], connectTimeoutMs: 1000, clock: systemClock }
  await expect(connectServer(servers.home ?? {}, options)).rejects.toThrow(
    'claude reads its MCP servers from its own settings.',
  )
})
