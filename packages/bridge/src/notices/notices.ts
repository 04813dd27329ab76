import { createHash } from 'node:crypto'
import { type Ask, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import type { SteadyClock } from '@reply/core/source'
import type { MessageRef } from '@reply/sink'
import type { NoticeKind } from '@reply/sink/channel'
import { createRecent, refOfAsk } from '@reply/sink/internal'
import { askObserver } from '../asks/ask-observer.ts'
import type { Channels } from '../chats/channels.ts'
import { ledgersWith } from '../chats/ledgers.ts'
import type { Mirrors } from '../config/mirrors.ts'
import type { RouterConfig } from '../config/schema.ts'
import { isOfEnd, isTakenOver, toError } from '../error.ts'
import type { Notified, People } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { StoredNotice } from '../state/decode.ts'
import { authorsOf, type Execution, isQuietRun, type JoiningPrompt } from '../state/execution.ts'
import type { State } from '../state/state.ts'
import { StoreError, type Write } from '../store/store.ts'
import { createTimers, waitAtMost } from '../timers.ts'
import type { Activity } from './activity.ts'
import { askTexts, endTexts, type NoticeTexts } from './notice-texts.ts'
import { createOutbox, type NoticeTarget, rangKey } from './outbox.ts'

/**
 * Tells people who are away that a run ended, or that it needs an answer. A person is away if they have not written or pressed
 * anything in any chat of the bridge for `awayMs`.
 */
export interface Notices {
  /**
   * Returns the writes that store the notices of the end of a run, for the same commit. Call `send` after it. Empty if `before` had
   * ended already or steered another run, and if its author is there. The authors of a run that was started elsewhere are those who
   * joined it. Retries while the store fails, and
   * rejects when the bridge stops meanwhile: the next process then ends the run.
   */
  writesAtEnd(before: Execution, ended: Execution, reply: Reply | undefined): Promise<readonly Write[]>
  /** Returns an observer that stores and sends the notices of a run's asks. */
  observerFor(execution: () => Execution): ReplyObserver
  /** Drops the notices of the asks of a run that no process observes any more. Never rejects. */
  endAsks(execution: Pick<Execution, 'id'>): Promise<void>
  /**
   * Begins to send what is stored. Call it at the start, too. What an earlier process stored of an ask is held until the run is observed,
   * because the ask may have ended since.
   */
  send(): Promise<void>
  /** Stops sending. The next process continues. */
  stop(): void
  /** Resolves when nothing is being sent. */
  idle(): Promise<void>
}

/** How long a person must not have acted to count as away, in ms, unless the channel says otherwise. */
const defaultAwayMs = 60_000
/** How long the end of a run waits for a link, in ms. */
const linkMs = 2000
/** How long the store remembers that an ask was notified, in ms. */
const rangMs = 86_400_000
/** Of how many runs the asks are remembered. */
const mostRuns = 10_000

/** Creates the notices of a shard. They are sent through `targets`, by their names in the config. */
export function createNotices(options: {
  readonly state: State
  readonly lease: Parameters<typeof createOutbox>[0]['lease']
  readonly targets: ReadonlyMap<string, NoticeTarget>
  readonly channels: Pick<Channels, 'has' | 'connectionOf'>
  readonly people: Pick<People, 'notifiedOfEnd' | 'notifiedOfAsk'>
  readonly mirrors: Pick<Mirrors, 'others'>
  readonly activity: Pick<Activity, 'agoMs'>
  readonly router: Pick<RouterConfig, 'quietMs'>
  readonly clock: SteadyClock
  readonly emit: Parameters<typeof createOutbox>[0]['emit']
  readonly onError: (error: Error) => void
}): Notices {
  const { state, targets, channels, people, mirrors, activity, router, clock, onError } = options
  /** By the id of an execution that this process observed: the asks that wait. */
  const waitingAsks = createRecent<ReadonlySet<string>>(mostRuns)
  const outbox = createOutbox({
    ...options,
    askStateOf: ({ executionID, requestID }) => {
      const waiting = waitingAsks.get(executionID)
      return waiting ? (waiting.has(requestID) ? 'waiting' : 'ended') : 'unknown'
    },
  })
  const timers = createTimers(clock)
  return {
    writesAtEnd,
    observerFor,
    endAsks: async ({ id }) => {
      if (targets.size === 0) return
      waitingAsks.set(id, new Set())
      await outbox.withdraw()
    },
    send: outbox.send,
    stop: () => {
      timers.stop()
      outbox.stop()
    },
    idle: outbox.idle,
  }

  /** Returns one write for each channel that tells the author of the run. */
  async function writesAtEnd(...[before, ended, reply]: Parameters<Notices['writesAtEnd']>): Promise<readonly Write[]> {
    const isEnd = before.status === 'running' && ended.status !== 'running'
    if (!isEnd || ended.isSteer || targets.size === 0) return []
    try {
      const kind: NoticeKind = ended.status === 'error' ? 'failure' : 'final'
      const writes = new Map<string, Write>()
      for (const prompt of ended.followed ? (ended.joinedBy ?? []) : [ended.prompt]) {
        const notified = people.notifiedOfEnd(prompt)
        for (const to of notified?.person.notify ?? []) {
          const target = targets.get(to)
          if (!notified || !target || writes.has(to) || !isOn(target, kind) || (await waitMs(notified, target)) > 0)
            continue
          const said = endTexts(ended, reply, target.fields.content)
          writes.set(to, outbox.write(await noticeOf({ to, notified, execution: ended, said, at: prompt })))
        }
      }
      return [...writes.values()]
    } catch (error) {
      // Otherwise the end would be stored without its notice.
      if (error instanceof StoreError || isOfEnd(error)) throw error
      // The run must end also if the bridge has a defect here.
      onError(toError(error))
      return []
    }
  }

  /** Returns an observer that looks at the pending asks whenever one begins or ends. */
  function observerFor(execution: () => Execution): ReplyObserver {
    if (targets.size === 0) return {}
    const isPending = (requestID: string): boolean => waitingAsks.get(execution().id)?.has(requestID) === true
    return askObserver((reply) => {
      const { id } = execution()
      const pending = reply.phase === 'settled' ? [] : pendingAsks(reply)
      const ids = new Set(pending.map(({ requestID }) => requestID))
      const before = waitingAsks.get(id)
      waitingAsks.set(id, ids)
      if (before && [...before].some((one) => !ids.has(one))) void outbox.withdraw()
      if (!before && outbox.isHolding()) void outbox.withdraw().then(outbox.send)
      for (const ask of pending) {
        if (before?.has(ask.requestID)) continue
        for (const notified of answerersOf(ask, execution()))
          for (const to of notified.person.notify ?? [])
            void notifyOfAsk({ to, notified, ask, execution, since: clock.monotonic(), isPending })
      }
    })
  }

  /** Returns who gets a notice of an ask: people who may answer it. Of a run that was started elsewhere, those with `approve`. */
  function answerersOf({ type }: Ask, execution: Execution): readonly Notified[] {
    const { prompt, followed } = execution
    const places = [prompt, ...mirrors.others(prompt)]
    return people.notifiedOfAsk(followed ? 'permission' : type, authorsOf(execution), places)
  }

  /**
   * Stores and sends the notice of an ask once it has waited for `awayMs` and the person is away, and for `quietMs` if someone may be where
   * the run was started. Does nothing if it ended or the person may no longer get it by then. Once for each ask and channel, which several people may have, also after a restart. Never rejects.
   */
  async function notifyOfAsk(given: AskNotice): Promise<void> {
    const { to, notified, ask, execution, since, isPending } = given
    const target = targets.get(to)
    if (!target || !isOn(target, 'ask')) return
    try {
      const quietMs = isQuietRun(execution()) ? router.quietMs : 0
      const leastMs = Math.max(awayMsOf(target), quietMs)
      const leftMs = Math.max(leastMs - (clock.monotonic() - since), await waitMs(notified, target))
      if (!isPending(ask.requestID)) return
      const rangName = rangKey(ask.requestID, to)
      const timer = `${rangName}/${notified.person.name}`
      if (leftMs > 0) return timers.restart(timer, leftMs, () => void notifyOfAsk(given))
      // The people may have changed meanwhile.
      const expected = answerersOf(ask, execution())
      if (!expected.some(({ person: { name: who, notify } }) => who === notified.person.name && notify?.includes(to)))
        return
      const { fields } = target
      const said = askTexts(execution(), ask, notified.isAuthor ? fields.content : 'none')
      const { prompt } = execution()
      const messageRef = (await messageOf(ask, prompt)) ?? prompt.messageRef
      const notice = {
        ...(await noticeOf({ to, notified, execution: execution(), said, at: { ...prompt, messageRef }, ask })),
        requestID: ask.requestID,
      }
      const rang = { type: 'put-if-absent', key: rangName, value: '', expiresInMs: rangMs } as const
      if (await state.withRetries(() => state.commit([rang, outbox.write(notice)]))) await outbox.send()
      // It may have ended during the commit.
      if (!isPending(ask.requestID)) await outbox.withdraw()
    } catch (error) {
      if (!isTakenOver(error)) onError(toError(error))
    }
  }

  /**
   * Returns how much longer a person must not act to count as away, in ms. At most 0 if they are away. Retries while the store
   * fails, because the notice would otherwise be lost.
   */
  async function waitMs({ person }: Notified, target: NoticeTarget): Promise<number> {
    return awayMsOf(target) - (await state.withRetries(() => activity.agoMs(person.name)))
  }

  /** Returns the message of an ask in its place. Undefined if it is not there yet. */
  async function messageOf({ requestID }: Ask, { channel, chat }: ChatPlace): Promise<MessageRef | undefined> {
    const ledgers = await ledgersWith(requestID, { channel, chat }, state)
    return ledgers.map((ledger) => refOfAsk(ledger, requestID)).findLast((ref) => ref !== undefined)
  }

  /** Returns a link to a message, or to its chat if it has no id. Undefined if the platform has none, or doesn't tell it in time. */
  async function linkTo({ channel, chat, messageRef }: JoiningPrompt): Promise<string | undefined> {
    if (!channels.has(channel)) return undefined
    const message = messageRef.id === '' ? undefined : messageRef
    let link: string | undefined
    const found = Promise.resolve(channels.connectionOf(channel).linkTo?.(chat, message)).then((one) => {
      link = one
    })
    await waitAtMost(found, linkMs, clock)
    return link
  }

  /** Returns a notice about a run, with a link to its chat if the platform has one. */
  async function noticeOf({
    to,
    notified: { person },
    execution: { id: executionID },
    said,
    at,
    ask,
  }: NoticeParts): Promise<StoredNotice> {
    const { channel, chat } = at
    const link = await linkTo(at)
    const subject = [to, person.name, channel, chat.id, chat.thread ?? '', executionID, ask?.requestID ?? '']
    return {
      id: createHash('sha256').update(JSON.stringify(subject)).digest('base64url'),
      ...said,
      ...(link !== undefined && { link }),
      to,
      executionID,
      channel,
      chat: { id: chat.id, ...(chat.thread !== undefined && { thread: chat.thread }) },
      at: clock.now(),
      doubtful: 0,
    }
  }
}

/** What a notice is made of. */
interface NoticeParts {
  readonly to: string
  readonly notified: Notified
  readonly execution: Execution
  readonly said: NoticeTexts
  /** The message that it opens. */
  readonly at: JoiningPrompt
  readonly ask?: Ask | undefined
}

/** An ask, and who may get a notice of it. */
interface AskNotice {
  readonly to: string
  readonly notified: Notified
  readonly ask: Ask
  readonly execution: () => Execution
  /** When this process first saw it, by the clock's `monotonic`. */
  readonly since: number
  readonly isPending: (requestID: string) => boolean
}

/** Whether a channel gets notices of a kind. */
function isOn({ fields }: NoticeTarget, kind: NoticeKind): boolean {
  return fields.on?.includes(kind) ?? true
}

/** Returns for how long a person must not have acted to count as away, in ms. */
function awayMsOf({ fields }: NoticeTarget): number {
  return fields.awayMs ?? defaultAwayMs
}
