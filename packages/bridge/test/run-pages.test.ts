import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askDigest } from '@reply/core/internal'
import type { LocalRun } from '@reply/core/source'
import { applyDifference, type Change, type PageAccess, type PageRun } from '@reply/web'
import { afterEach, describe, expect, test } from 'vitest'
import type { BridgeConfig } from '../src/config/schema.ts'
import { checkBridge } from '../src/setup/check-bridge.ts'
import { texts } from '../src/texts.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer, touching } from './local-agent.ts'

const group = -100_500
const publicUrl = 'https://agents.example.org/pages'
const people: BridgeConfig['people'] = {
  ann: { ids: ['telegram:1'], may: ['prompt', 'approve', 'admin'] },
  bob: { ids: ['telegram:2'], may: ['prompt'] },
}

let open: HandDriven
let held: LocalRun | undefined
/** What the agent was told. */
const answers: unknown[] = []
afterEach(async () => {
  await open.chats.close()
  held = undefined
  answers.length = 0
})

function act(run: LocalRun, text: string): void {
  const reply = (given: unknown): void => void answers.push(given)
  held = run
  if (text === 'touch') {
    run.write(touching.call)
    run.ask({ ...touching.ask, reply })
  } else if (text === 'slowly') run.write({ type: 'text', delta: 'Working on it.' })
  else answer(run, `You said: ${text}.`)
}

async function begin(more: Parameters<typeof startHandDriven>[1] = {}): Promise<void> {
  const web = { publicUrl, secret: { env: 'WEB_SECRET' } }
  open = await startHandDriven(act, { groups: [group], people, web, ...more })
}

interface PageLink {
  readonly id: string
  readonly token: string
}

/** Waits for the newest link to a page in a chat, other than those before. */
async function linkIn(chat: number, not: readonly string[] = []): Promise<PageLink> {
  const found = (): URL | undefined =>
    open.telegram
      .screen(chat)
      .flatMap(({ source }) => (source.match(/https:\/\/agents[^\s"()<>]+/g) ?? []).map((url) => new URL(url)))
      .findLast(({ pathname }) => pathname.includes('/r/') && !not.some((id) => pathname.endsWith(id)))
  await open.passes(() => found() !== undefined)
  const url = found()
  if (!url?.href.startsWith(`${publicUrl}/r/`)) throw new Error(`No page is linked in ${open.said(chat).join(' / ')}.`)
  return { id: url.pathname.split('/').at(-1) ?? '', token: url.hash.slice(1) }
}

const request = (path: string, token: string, body?: object): Request =>
  new Request(`http://localhost/pages/api/runs/${path}`, {
    headers: {
      host: 'agents.example.org',
      authorization: `Bearer ${token}`,
      ...(body && { 'content-type': 'application/json', origin: 'https://agents.example.org' }),
    },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })

interface Read {
  /** The newest state. */
  run(): PageRun | undefined
  access(): Partial<PageAccess>
  readonly events: string[]
  /** Whether the stream has ended. */
  hasEnded(): boolean
  stop(): void
}

/** Reads the stream of a page. */
async function read({ id, token }: PageLink): Promise<Read | { readonly status: number; readonly error: string }> {
  const response = await open.chats.page(request(`${id}/events`, token))
  if (response.status !== 200) return { status: response.status, error: await response.text() }
  const events: string[] = []
  let run: unknown
  let access: Partial<PageAccess> = {}
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const take = (block: string): void => {
    const [, name = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
    if (name === '') return
    events.push(name)
    const value: Partial<PageAccess> & { readonly run?: unknown; readonly changes?: readonly Change[] } =
      JSON.parse(data)
    if (name === 'run') run = value.run
    if (name === 'access') access = value
    if (name === 'change') run = applyDifference(run, value.changes ?? [])
  }
  const readAll = async (): Promise<void> => {
    let text = ''
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      text += next.value
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) take(block)
    }
  }
  let hasEnded = false
  void readAll()
    .catch(() => {})
    .finally(() => {
      hasEnded = true
    })
  return {
    run: () => run as PageRun | undefined,
    access: () => access,
    events,
    hasEnded: () => hasEnded,
    stop: () => void reader?.cancel(),
  }
}

async function readOpen(link: PageLink): Promise<Read> {
  const opened = await read(link)
  if ('error' in opened) throw new Error(opened.error)
  await open.passes(() => opened.run() !== undefined)
  return opened
}

const textOf = (page: Read): string => JSON.stringify(page.run()?.reply.messages.flatMap(({ parts }) => parts))

/** Posts to a page, and resolves with the status and what the person is told. */
async function post(
  { id, token }: PageLink,
  action: string,
  body: object,
): Promise<readonly [number, string | undefined]> {
  let done: readonly [number, string | undefined] | undefined
  void open.chats.page(request(`${id}/${action}`, token, body)).then(async (response) => {
    const { error }: { readonly error?: string } = JSON.parse(await response.text())
    done = [response.status, error]
  })
  await open.passes(() => done !== undefined)
  return done ?? [0, undefined]
}

const askDigestIn = async (page: Read) => {
  await open.passes(() => (page.run()?.reply.asks.length ?? 0) > 0)
  const [ask] = page.run()?.reply.asks ?? []
  if (!ask) throw new Error('The page shows no ask.')
  return { askID: ask.requestID, digest: askDigest(ask) }
}

test('the status links to a page that shows the run as it grows, and names its person', async () => {
  await begin()
  open.telegram.say(1, 'slowly')
  const link = await linkIn(1)
  const page = await readOpen(link)
  expect(textOf(page)).toContain('Working on it.')
  expect(page.access()).toMatchObject({ who: 'Ann', mayAnswer: true, mayStop: true, mayAllow: true })
  held?.write({ type: 'text', delta: ' And more.' })
  await open.passes(() => textOf(page).includes('Working on it. And more.'))
  if (held) answer(held, ' Done.')
  await open.passes(() => page.events.includes('end'))
  expect(page.run()?.reply.outcome).toBe('completed')
  expect(page.events.filter((name) => name === 'run')).toHaveLength(1)
})

describe('a permission', () => {
  test('is allowed on the page of a private chat, once with a link', async () => {
    await begin()
    open.telegram.say(1, 'touch')
    open.telegram.say(2, 'slowly')
    const other = await linkIn(2)
    const stored = await linkIn(1)
    const page = await readOpen(stored)
    const ask = await askDigestIn(page)
    expect(await post({ ...stored, token: other.token }, 'answer', { ...ask, answer: 'once' })).toEqual([
      401,
      expect.any(String),
    ])
    expect(await post(stored, 'answer', { ...ask, digest: 'another', answer: 'once' })).toEqual([
      409,
      expect.any(String),
    ])
    expect(await post(stored, 'answer', { ...ask, answer: 'once' })).toEqual([200, undefined])
    expect(answers).toEqual([{ type: 'once' }])
    await open.passes(() => page.run()?.answers[ask.askID] !== undefined)
    expect(page.run()?.answers).toEqual({ [ask.askID]: { by: 'ann' } })
    await open.passes(() => page.access().mayAllow === false)
  })

  test('is not allowed by a person without the right, although the link lets them answer questions', async () => {
    await begin()
    open.telegram.say(2, 'touch')
    const link = await linkIn(2)
    const page = await readOpen(link)
    const ask = await askDigestIn(page)
    expect(await post(link, 'answer', { ...ask, answer: 'once' })).toEqual([409, texts.mayNotAnswer])
    expect(answers).toEqual([])
  })

  test('is only shown by a link of a shared chat', async () => {
    await begin()
    open.telegram.say(group, '@fake_bot slowly', { from: { id: 1, name: 'Ann' } })
    const link = await linkIn(group)
    const page = await readOpen(link)
    expect(page.access()).toMatchObject({ mayAnswer: false, mayStop: false, mayAllow: false })
    expect(await post(link, 'stop', {})).toEqual([403, expect.any(String)])
    expect(page.run()?.reply.phase).toBe('working')
  })
})

test('a person who is removed from the config loses the page, also an open one', async () => {
  await begin()
  open.telegram.say(1, 'slowly')
  const link = await linkIn(1)
  const page = await readOpen(link)
  open.chats.setPeople({ bob: people.bob ?? { ids: [], may: [] } })
  expect(await read(link)).toMatchObject({ status: 401 })
  expect(await post(link, 'stop', {})).toEqual([401, expect.any(String)])
  await open.passes(() => page.hasEnded())
  expect(page.hasEnded()).toBe(true)
})

test('a link lets its person do no more than the rights that are left', async () => {
  await begin()
  open.telegram.say(1, 'slowly')
  const link = await linkIn(1)
  open.chats.setPeople({ ...people, ann: { ids: ['telegram:1'], may: [] } })
  const page = await readOpen(link)
  expect(page.access()).toMatchObject({ mayAnswer: false, mayStop: false })
  expect(await post(link, 'stop', {})).toEqual([403, expect.any(String)])
})

test('a run is stopped on its page', async () => {
  await begin()
  open.telegram.say(1, 'slowly')
  const link = await linkIn(1)
  const page = await readOpen(link)
  expect(await post(link, 'stop', {})).toEqual([200, undefined])
  await open.passes(() => page.run()?.reply.outcome === 'aborted')
  expect(page.run()?.reply.outcome).toBe('aborted')
})

test('the page of an ended run is there until its link ends, also when its row is no longer listed and others came after it', async () => {
  await begin({ web: { publicUrl, secret: { env: 'WEB_SECRET' }, linkHours: 3 } })
  open.telegram.say(1, 'one')
  const first = await linkIn(1)
  await open.passes(() => open.said(1).some((said) => said.includes('You said: one.')))
  open.telegram.say(1, 'two')
  await linkIn(1, [first.id])
  await open.clock.advance(2 * 3_600_000)
  const page = await readOpen(first)
  expect(textOf(page)).toContain('You said: one.')
  await open.clock.advance(2 * 3_600_000)
  expect(await read(first)).toMatchObject({ status: 410 })
})

test('a link shows its own run alone, and no changed or foreign token shows anything', async () => {
  await begin()
  open.telegram.say(1, 'one')
  const first = await linkIn(1)
  open.telegram.say(1, 'two')
  const second = await linkIn(1, [first.id])
  expect(await read({ id: second.id, token: first.token })).toMatchObject({ status: 401 })
  expect(await read({ id: first.id, token: `${first.token}x` })).toMatchObject({ status: 401 })
  expect(await read({ id: first.id, token: '' })).toMatchObject({ status: 401 })
  expect(await read({ id: 'abc', token: first.token })).toMatchObject({ status: 401 })
})

test('without `web`, chats link nothing and no page is served', async () => {
  await begin({ web: {} })
  open.telegram.say(1, 'one')
  await open.passes(() => open.said(1).some((said) => said.includes('You said: one.')))
  expect(JSON.stringify(open.telegram.screen(1))).not.toContain('/r/')
  expect((await open.chats.page(request('abc/events', 'x'))).status).toBe(404)
})

test.each([
  ['a secret that is long enough', 'x'.repeat(32), true, 'Chats link to https://agents.example.org/pages for 24 hours'],
  ['a secret that is too short', 'short', false, 'at least 32 bytes'],
  ['no secret', '', false, 'WEB_SECRET'],
])('`--check` says what it finds for %s', async (_, secret, isUsable, found) => {
  await begin()
  const folder = mkdtempSync(join(tmpdir(), 'reply-web-check-'))
  const path = join(folder, 'bridge.json')
  const config = {
    servers: { home: { url: 'http://127.0.0.1:9' } },
    channels: { tg: { type: 'telegram', token: { env: 'TOKEN' } } },
    web: { publicUrl, secret: { env: 'WEB_SECRET' } },
  }
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
  try {
    const parts = await checkBridge({ path, env: { WEB_SECRET: secret }, timeoutMs: 5000 })
    const web = parts.find(({ part }) => part === 'web')
    expect(web).toMatchObject({ isUsable, found: expect.stringContaining(found) })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
