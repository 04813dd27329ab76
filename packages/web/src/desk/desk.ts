import {
  type Client,
  type Clock,
  filesOf,
  observerOf,
  pendingAsks,
  type Reply,
  type ReplyFile,
  systemClock,
  type WatchTarget,
} from '@reply/core'
import { Refusal } from '@reply/core/internal'
import { readReplyFile } from '@reply/core/node'
import { createPageFeed, lateMs, type OpenPageFeed } from '../serve/feed.ts'
import type { OpenRun, PageAsk, PageFile, PagePerson, PageSource } from '../serve/source.ts'
import type { PageList, PageListItem } from '../state/page-list.ts'
import type { PageAnswer, PageRun } from '../state/page-run.ts'
import { toPageRun } from '../state/to-page-run.ts'

/** What a desk shows. */
export interface DeskOptions {
  /** Which runs. Default: all of the server. */
  readonly target?: WatchTarget | undefined
  /**
   * Whether the server runs on this computer, so that files which an answer names can be read here, inside of their session's
   * directory. Default: they can't, and only files in the reply itself are shown.
   */
  readonly isLocal?: boolean | undefined
  /** Receives what went wrong on this side. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Default: the computer's. */
  readonly clock?: Clock | undefined
}

/** The runs of a server, for one person who may do everything. */
export interface Desk {
  /** The runs, for `createPages`. */
  readonly source: PageSource
  /** Stops watching. */
  close(): void
}

type DeskClient = Pick<Client, 'watch' | 'reply' | 'sessions' | 'answer' | 'reject' | 'abort' | 'diff'>

/** A run that was seen here, from its beginning or from the middle. */
interface DeskRun {
  readonly id: string
  reply: Reply
  answers: Readonly<Record<string, PageAnswer>>
  readonly feed: OpenPageFeed<PageRun>
  item: PageListItem
}

/** Ended runs are forgotten beyond these, the oldest first. */
const mostRuns = 200

/** The largest file that is read, in bytes. */
const mostFileBytes = 20 * 1024 * 1024

const longestPrompt = 200

/**
 * Watches a server for pages: the runs that go on or begin, and the last run of each earlier session. People answer through the
 * client, which checks that an ask is still the one that they saw.
 */
export function createDesk(client: DeskClient, options: DeskOptions = {}): Desk {
  const { target = {}, isLocal = false, onError, clock = systemClock } = options
  const runs = new Map<string, DeskRun>()
  /** The sessions that had runs before. Those with a run in `runs` are left out of the list. */
  let sessions: readonly PageListItem[] = []
  const list = createPageFeed<PageList>()
  let count = 0
  let isClosed = false
  publish()
  const stop = client.watch(target, { observe: (reply) => [observe(reply)] })
  void readSessions()
  return {
    source: { find, list },
    close: () => {
      isClosed = true
      stop()
    },
  }

  function observe(reply: Reply) {
    const run = addRun(reply)
    return observerOf((observation) => update(run, observation.reply))
  }

  function addRun(reply: Reply): DeskRun {
    count += 1
    const id = `run-${count}`
    const run: DeskRun = { id, reply, answers: {}, feed: createPageFeed(), item: itemOf(id, reply) }
    runs.set(id, run)
    const ended = [...runs.values()].filter((one) => one.reply.phase === 'settled')
    for (const old of ended.slice(0, Math.max(0, runs.size - mostRuns))) runs.delete(old.id)
    run.feed.update(toPageRun(reply, run.answers))
    publish()
    return run
  }

  function update(run: DeskRun, reply: Reply): void {
    const hasSettled = reply.phase === 'settled' && run.reply.phase !== 'settled'
    run.reply = reply
    run.feed.update(toPageRun(reply, run.answers))
    if (hasSettled) clock.after(lateMs, run.feed.end)
    const item = itemOf(run.id, reply)
    if (JSON.stringify(item) === JSON.stringify(run.item)) return
    run.item = item
    publish()
  }

  /** Lists what ran before. Without it, the page still shows what runs from now on. */
  async function readSessions(): Promise<void> {
    try {
      const { sessionID, directory } = target
      const known = await client.sessions(directory === undefined ? {} : { directory })
      sessions = known
        .filter((session) => sessionID === undefined || session.sessionID === sessionID)
        .slice(0, mostRuns)
        .map(({ sessionID: id, title, directory: at, updatedAt, createdAt }) =>
          compact({ id, title, directory: at, asks: 0, at: updatedAt ?? createdAt }),
        )
      if (!isClosed) publish()
    } catch (error) {
      onError?.(error)
    }
  }

  function publish(): void {
    const seen = [...runs.values()]
    const active = new Set(seen.map(({ reply }) => reply.sessionID))
    const items = [...seen.map(({ item }) => item), ...sessions.filter(({ id }) => !active.has(id))]
    list.update({ runs: items.toSorted(byUrgency) })
  }

  async function find(runID: string): Promise<OpenRun | undefined> {
    const run = runs.get(runID)
    if (run) return openRun(run)
    if (!sessions.some(({ id }) => id === runID)) return undefined
    const reply = await client.reply(runID)
    if (!reply) throw new Refusal(404, 'Nothing has run in this session.')
    const past: DeskRun = { id: runID, reply, answers: {}, feed: createPageFeed(), item: itemOf(runID, reply) }
    past.feed.update(toPageRun(reply))
    past.feed.end()
    return openRun(past)
  }

  function openRun(run: DeskRun): OpenRun {
    return {
      feed: run.feed,
      release: () => {},
      answer: async (person, ask, answer) => {
        await client.answer(askIn(run, ask), answer)
        note(run, ask, person)
      },
      reject: async (person, ask, message) => {
        await client.reject(askIn(run, ask), message)
        note(run, ask, person)
      },
      stop: async () => await client.abort(run.reply.sessionID),
      diff: async () => await client.diff(run.reply.sessionID),
      file: async (fileID) => await readFile(run.reply, fileID),
    }
  }

  /** Says who answered. The ask is closed already, so a page shows both at once or shortly after each other. */
  function note(run: DeskRun, ask: PageAsk, { name }: PagePerson): void {
    if (name === '') return
    run.answers = { ...run.answers, [ask.requestID]: { by: name } }
    run.feed.update(toPageRun(run.reply, run.answers))
  }

  async function readFile(reply: Reply, fileID: string): Promise<PageFile | undefined> {
    const found = fileIn(reply, fileID)
    if (!found) return undefined
    const directory = isLocal ? found.directory : undefined
    const bytes = await readReplyFile(found.file, { directory, maxBytes: mostFileBytes }).catch((error: unknown) => {
      throw new Refusal(404, error instanceof Error ? error.message : String(error))
    })
    return { bytes: Uint8Array.from(bytes), mime: found.file.mime, name: found.file.filename }
  }
}

/** Returns the core's ask that the page's one was made of. Throws a `Refusal` if it has changed since. */
function askIn({ reply }: DeskRun, ask: PageAsk) {
  const at = toPageRun(reply).reply.asks.indexOf(ask)
  const found = reply.asks[at]
  if (!found)
    throw new Refusal(409, 'What is asked has changed in the meantime. Your answer was not sent. Look at it again.')
  return found
}

/** Finds a file of a reply or of its sub-agents, and the directory of its session. */
function fileIn(
  reply: Reply,
  fileID: string,
): { readonly file: ReplyFile; readonly directory: string | undefined } | undefined {
  const file = filesOf(reply).find(({ id }) => id === fileID)
  if (file) return { file, directory: reply.directory }
  for (const child of reply.children) {
    const found = fileIn(child.reply, fileID)
    if (found) return found
  }
  return undefined
}

function itemOf(id: string, reply: Reply): PageListItem {
  const { title, prompt, directory, phase, outcome, startedAt } = reply
  const asks = phase === 'settled' ? 0 : pendingAsks(reply).length
  const text = prompt?.text.slice(0, longestPrompt)
  return compact({ id, title, prompt: text, directory, phase, outcome, asks, at: startedAt })
}

/** Leaves out fields that are undefined, which JSON does not have. */
function compact(item: PageListItem): PageListItem {
  const fields: unknown[][] = Object.entries(item).filter(([, value]) => value !== undefined)
  return Object.fromEntries(fields)
}

function byUrgency(a: PageListItem, b: PageListItem): number {
  return Number(b.asks > 0) - Number(a.asks > 0) || (b.at ?? 0) - (a.at ?? 0)
}
