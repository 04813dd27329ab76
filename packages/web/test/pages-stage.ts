import type { Reply } from '@reply/core'
import { createFeed, Refusal } from '@reply/core/internal'
import {
  applyDifference,
  createPages,
  type OpenRun,
  type PageGrant,
  type PageRun,
  type PagesOptions,
  toPageRun,
} from '../src/index.ts'
import { permits, replyWith, settled, text } from './make.ts'

const ann = { id: 'tg/7', name: 'Ann' }

/** What the tokens of a stage allow. */
const grants: Readonly<Record<string, PageGrant | 'ended'>> = {
  all: { person: ann, rights: { answer: true, stop: true } },
  once: { person: ann, rights: { answer: true, stop: true }, onceID: 'once' },
  read: { person: { id: 'tg/8', name: '' }, rights: { answer: false, stop: false } },
  late: { person: ann, rights: { answer: true, stop: true }, until: 5000 },
  over: 'ended',
}

/** A handler before one run, `run_1`. The token `other` is for another run. */
export function createStage(options: Partial<PagesOptions> = {}) {
  const run = createFeed<PageRun>()
  const list = createFeed<object>()
  const calls: unknown[] = []
  const errors: unknown[] = []
  const state = { reads: 0, open: 0, hasEnded: false, reply: replyWith([text('a', 'Hello')]) }
  const update = (reply: Reply): void => {
    state.reply = reply
    run.update(toPageRun(reply))
  }
  update(state.reply)
  list.update({ runs: [] })
  const open = (): OpenRun => {
    state.open += 1
    return {
      feed: {
        get newest() {
          state.reads += 1
          return run.newest
        },
        follow: run.follow,
        get hasEnded() {
          return state.hasEnded
        },
      },
      release: () => {
        state.open -= 1
      },
      answer: async (person, ask, answer) => {
        if (ask.requestID === 'broken') throw new Error('postgres://user:secret@db failed')
        calls.push(['answer', person.name, ask.requestID, answer])
      },
      reject: async (person, ask, message) => void calls.push(['reject', person.name, ask.requestID, message]),
      stop: async (person) => void calls.push(['stop', person.name]),
      diff: async () => [{ path: 'a.ts', kind: 'added', patches: [] }],
      file: async (id) => {
        if (id === 'denied') throw new Refusal(403, 'Not that one.')
        const [mime, name] = files[id] ?? []
        if (mime === undefined) return undefined
        return { bytes: new TextEncoder().encode('<script>'), mime, name }
      },
    }
  }
  const pages = createPages({
    source: {
      find: async (id) => (id === 'run_1' ? open() : undefined),
      list: {
        get newest() {
          return list.newest
        },
        follow: list.follow,
        hasEnded: false,
      },
    },
    judge: (token, runID) => {
      if (token === 'other' && runID === 'run_1') return undefined
      if (runID === undefined && token !== 'all') return undefined
      return grants[token] ?? (token === 'other' ? grants.all : undefined)
    },
    publicUrl: 'https://agents.example/pages',
    paceMs: 0,
    onError: (error) => errors.push(error),
    ...options,
  })
  return { ...pages, calls, errors, state, update, updateList: list.update }
}

const files: Readonly<Record<string, readonly [string, string?]>> = {
  png: ['image/png', '/tmp/a b.png'],
  svg: ['image/svg+xml', 'x.svg'],
  html: ['text/html; charset=utf-8', '"\r\nset-cookie: a=b\ud800.html'],
  none: ['image/PNG; x'],
}

/** A reply that waits for the permission `per_1`. */
export const asking = (more: Parameters<typeof permits>[1] = {}): Reply =>
  replyWith([text('a', 'Hello')], { phase: 'blocked', asks: [permits('1', more)] })

export const ended = (reply: Reply): Reply => settled(reply)

const at = 'https://agents.example/pages'

/** A GET of the API, or of a page for a path that begins with `/`. */
export function get(path: string, token?: string, init: RequestInit = {}): Request {
  const url = path.startsWith('/') ? `${at}${path}` : `${at}/api/runs/${path}`
  return new Request(url, { ...init, headers: { ...(token && { authorization: `Bearer ${token}` }), ...init.headers } })
}

export function post(action: string, body: unknown, token = 'all', headers: Record<string, string> = {}): Request {
  return new Request(`${at}/api/runs/run_1/${action}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
  })
}

export interface StreamEvent {
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into it
  readonly data: any
}

/** Reads the events of a stream. */
export function readEvents(response: Response) {
  if (response.status !== 200 || !response.body) throw new Error(`Status ${response.status}`)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  const events: StreamEvent[] = []
  let rest = ''
  let page: unknown
  /** Reads until the events fit, or the stream ends. */
  const until = async (fits: (events: readonly StreamEvent[]) => boolean): Promise<readonly StreamEvent[]> => {
    while (!fits(events)) {
      const { done, value } = await reader.read()
      if (done) return events
      rest += value
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) if (!block.startsWith(':')) note(block)
    }
    return events
  }
  const note = (block: string): void => {
    const [first = '', second = ''] = block.split('\n')
    const one: StreamEvent = { event: first.slice('event: '.length), data: JSON.parse(second.slice('data: '.length)) }
    events.push(one)
    if (one.event === 'run') page = one.data.run
    if (one.event === 'change') page = applyDifference(page, one.data.changes)
  }
  return {
    events,
    until,
    untilEnd: async () => await until(() => false),
    page: () => page,
    cancel: async () => await reader.cancel(),
  }
}
