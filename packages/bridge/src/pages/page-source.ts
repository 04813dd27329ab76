import {
  type Ask,
  type Client,
  type Clock,
  filesOf,
  observerOf,
  type PostedPrompt,
  type Reply,
  type ReplyFile,
  type ReplyStream,
} from '@reply/core'
import { askDigest, Refusal } from '@reply/core/internal'
import { FileRefusal } from '@reply/sink/channel'
import {
  createPageFeed,
  lateMs,
  type OpenRun,
  type PageAnswer,
  type PageFile,
  type PagePerson,
  type PageRun,
  type PageSource,
  toPageRun,
} from '@reply/web'
import type { AnsweredBy } from '../asks/answered-by.ts'
import type { Mirrors } from '../config/mirrors.ts'
import { toError } from '../error.ts'
import type { People } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { FileReaders } from '../servers/file-readers.ts'
import { toExecution } from '../state/decode.ts'
import type { Execution } from '../state/execution.ts'
import type { PageAct, PageAction, PageAsk } from '../state/page-action.ts'
import { executionPrefix, pagePrefix } from '../state/registry.ts'
import { keyInShard } from '../state/shard-of.ts'
import type { SharedState } from '../state/state.ts'
import { texts } from '../texts.ts'
import { actorOf } from './page-links.ts'
import { type PagedRun, runOfPage } from './run-id.ts'

/** What pages need of the connection to an agent. */
export interface PageAgent extends Pick<Client, 'watch' | 'reply' | 'diff'> {
  /** As in `Client`. */
  resume(
    posted: PostedPrompt,
  ): Promise<
    { readonly type: 'found'; readonly stream: Pick<ReplyStream, 'reply'> } | { readonly type: 'absent' | 'unknown' }
  >
}

/** What the pages of a process are made from. */
export interface PageSourceOptions {
  readonly state: Pick<SharedState, 'read'>
  readonly shardOf: (place: ChatPlace) => string
  readonly mirrors: Pick<Mirrors, 'keyOf'>
  /** By their names in the config. */
  readonly servers: ReadonlyMap<string, PageAgent>
  readonly people: Pick<People, 'personOf'>
  readonly answeredBy: Pick<AnsweredBy, 'actorOf'>
  readonly fileReaders: FileReaders
  /** As in `Bridge`. */
  readonly act: (channel: string, action: Omit<PageAction, 'type' | 'answer'>) => Promise<string | undefined>
  readonly clock: Pick<Clock, 'after'>
  readonly onError: (error: Error) => void
}

/** A run that pages show, shared by all its readers, also by those that wait until it is open. */
interface FollowedRun {
  /** Undefined if there is no such run. */
  readonly opened: Promise<{ readonly run: Omit<OpenRun, 'release'>; readonly stop: () => void } | undefined>
  readers: number
}

/**
 * Creates the source of the pages of runs. Each process follows the session of a run itself, whether it owns the chat or not. What
 * people do on a page goes to the owner.
 */
export function createPageSource(options: PageSourceOptions): PageSource {
  const { state, shardOf, mirrors, servers, people, answeredBy, fileReaders, act, clock, onError } = options
  /** By the ids of pages. */
  const followed = new Map<string, FollowedRun>()
  return { find }

  async function find(pageID: string): Promise<OpenRun | undefined> {
    const paged = runOfPage(pageID)
    if (!paged) return undefined
    const shared = followed.get(pageID) ?? { opened: open(paged), readers: 0 }
    followed.set(pageID, shared)
    // Counted before the wait, so that no other reader stops the run meanwhile.
    shared.readers += 1
    const leave = (stop?: () => void): void => {
      shared.readers -= 1
      if (shared.readers > 0) return
      followed.delete(pageID)
      stop?.()
    }
    try {
      const opened = await shared.opened
      if (opened) return { ...opened.run, release: () => leave(opened.stop) }
    } catch (error) {
      leave()
      throw error
    }
    leave()
    return undefined
  }

  /** Follows a run. Undefined if it is not stored, or its server is no longer in the config. */
  async function open(paged: PagedRun): FollowedRun['opened'] {
    const execution = await storedRun(paged)
    const client = execution && servers.get(execution.server)
    if (!client) return undefined
    const { sessionID, server } = execution
    if (sessionID === undefined) throw notBegun()
    const feed = createPageFeed<PageRun>()
    let stopTimer: (() => void) | undefined
    let answers: Readonly<Record<string, PageAnswer>> = {}
    let newest: Reply | undefined
    const update = (reply: Reply): void => {
      newest = reply
      answers = withAnswers(reply, answers)
      feed.update(toPageRun(reply, answers))
      if (reply.phase === 'settled') stopTimer ??= clock.after(lateMs, feed.end)
    }
    const unwatch = client.watch(
      { sessionID },
      {
        observe: (reply) => {
          if (!isOf(execution, reply)) return []
          update(reply)
          return [observerOf(({ reply: newer }) => update(newer))]
        },
      },
    )
    const stop = (): void => {
      unwatch()
      stopTimer?.()
    }
    try {
      const past = feed.newest ? undefined : await pastReply(client, execution)
      if (past && !feed.newest) {
        update(past)
        // No watch tells of a reply that had ended before.
        if (past.phase === 'settled') feed.end()
      }
    } catch (error) {
      stop()
      throw error
    }
    if (!feed.newest) {
      stop()
      if (execution.phase === 'planned' || execution.phase === 'posting') throw notBegun()
      return undefined
    }
    const carryOut = async (person: PagePerson, does: PageAct): Promise<void> => await actFor(paged, person, does)
    return {
      stop,
      run: {
        feed,
        answer: async (person, ask, answer) => await carryOut(person, { type: 'answer', ask: askOf(ask), answer }),
        reject: async (person, ask, message) => await carryOut(person, { type: 'reject', ask: askOf(ask), message }),
        stop: async (person) => await carryOut(person, { type: 'stop' }),
        diff: async () => await client.diff(sessionID),
        file: async (fileID) => await fileOf(server, newest, fileID),
      },
    }
  }

  /** Reads a run as it is stored: as long as it is listed in its chat, and after that as long as its links last. */
  async function storedRun({ place, id }: PagedRun): Promise<Execution | undefined> {
    const keys = [executionPrefix, pagePrefix].map((prefix) =>
      keyInShard(shardOf(place), `${prefix}${mirrors.keyOf(place)}/${id}`),
    )
    for (const key of keys) {
      const stored = await state.read(key)
      if (stored !== undefined) return toExecution(stored)
    }
    return undefined
  }

  /** Returns the names of the people who answered asks through this process. The same object if there are no others than before. */
  function withAnswers({ asks }: Reply, before: Readonly<Record<string, PageAnswer>>): typeof before {
    const names = asks.flatMap(({ requestID, status }) => {
      const by = status === 'pending' || before[requestID] ? undefined : answeredBy.actorOf(requestID)
      const name = by && people.personOf(by.channel, { id: by.actorID })?.name
      return name === undefined ? [] : [[requestID, { by: name }] as const]
    })
    return names.length === 0 ? before : { ...before, ...Object.fromEntries(names) }
  }

  /** Passes on what a person does. Throws a `Refusal` that says why it was not done. */
  async function actFor({ place, id }: PagedRun, person: PagePerson, does: PageAct): Promise<void> {
    const known = actorOf(person)
    // A link of one channel does not act in the chats of another one.
    if (known?.channel !== place.channel) throw new Refusal(403, texts.mayNotAnswer)
    const refused = await act(place.channel, { chat: place.chat, actor: known.actor, runID: id, act: does })
    if (refused !== undefined) throw new Refusal(409, refused)
  }

  /** Reads a file of the reply or of its sub-agents. Undefined if it has none with this id. */
  async function fileOf(server: string, reply: Reply | undefined, fileID: string): Promise<PageFile | undefined> {
    const found = reply && findFile(reply, fileID)
    if (!found) return undefined
    const { file, sessionID, directory } = found
    const signal = AbortSignal.timeout(fileMs)
    try {
      const bytes = await fileReaders(server)(file, { directory, sessionID, maxBytes: mostFileBytes, signal })
      return { bytes: Uint8Array.from(bytes), mime: file.mime, name: file.filename }
    } catch (error) {
      if (error instanceof FileRefusal) throw new Refusal(404, error.message)
      onError(toError(error))
      throw new Refusal(404, texts.fileUnread)
    }
  }
}

/** How long reading a file may take, in ms, and how many bytes are read. */
const fileMs = 30_000
const mostFileBytes = 20_000_000

/** Pages ask again until the run has begun. */
function notBegun(): Refusal {
  return new Refusal(503, texts.notBegun, { 'retry-after': '1' })
}

/**
 * Whether the reply is that of the run: by its ids. Where the server makes the ids, by the prompt's text, but only as long as both go
 * on: another run of the session may have the same text.
 */
function isOf({ posted, startedBy, names = [], finishedAt }: Execution, reply: Reply): boolean {
  const ids = new Set([posted?.messageID, startedBy, ...names].filter((id) => id !== undefined))
  if (ids.size === 0) {
    const goesOn = finishedAt === undefined && reply.phase !== 'settled'
    return goesOn && posted?.text !== undefined && reply.prompt?.text === posted.text
  }
  const { promptIDs, messages, asks } = reply
  return [...promptIDs, ...messages.map((one) => one.id), ...asks.map((one) => one.requestID)].some((id) => ids.has(id))
}

/**
 * Reads a reply that no watch tells of: the newest one of its session, or else an earlier one by its prompt. Undefined if it can't be
 * read. A run that is not over is not looked for by its prompt, because the client would go on looking until the run begins.
 */
async function pastReply(client: PageAgent, execution: Execution): Promise<Reply | undefined> {
  const { sessionID = '', posted, finishedAt } = execution
  const newest = await client.reply(sessionID)
  if (newest && isOf(execution, newest)) return newest
  const resumed = finishedAt !== undefined && posted ? await client.resume(posted) : undefined
  return resumed?.type === 'found' ? resumed.stream.reply : undefined
}

/** Returns a file of a reply or of its sub-agents, and where it is. Undefined if there is none with this id. */
function findFile(
  reply: Reply,
  fileID: string,
): { readonly file: ReplyFile; readonly sessionID: string; readonly directory: string | undefined } | undefined {
  const file = filesOf(reply).find(({ id }) => id === fileID)
  if (file) return { file, sessionID: reply.sessionID, directory: reply.directory }
  for (const child of reply.children) {
    const found = findFile(child.reply, fileID)
    if (found) return found
  }
  return undefined
}

/** Returns what identifies an ask as a page shows it. */
function askOf(ask: Pick<Ask, 'requestID'> & Parameters<typeof askDigest>[0]): PageAsk {
  return { requestID: ask.requestID, digest: askDigest(ask) }
}
