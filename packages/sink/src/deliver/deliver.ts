import type { Clock, Reply } from '@reply/core'
import { type AskFinder, createAskFinder, type MayAnswer } from '../asks/answering.ts'
import { withAsks } from '../asks/asks.ts'
import { cardSecrets } from '../asks/token.ts'
import type { Policy } from '../config.ts'
import { isTakenOver, SinkError } from '../error.ts'
import type { LayoutOptions, Slot } from '../layout/slot.ts'
import type { AskState } from '../ledger/card.ts'
import type { IntentEntry } from '../ledger/entry.ts'
import { type GuardOptions, guardOf, withGuard, withReasons } from '../ledger/guard.ts'
import { emptyLedger, type Ledger, type LedgerStore } from '../ledger/ledger.ts'
import { createLedgerStorage } from '../ledger/ledger-store.ts'
import type { CallKind } from '../port/limits.ts'
import type { ChannelPort, Chat, MessageRef, Render } from '../port/port.ts'
import type { PortError } from '../port/port-error.ts'
import type { Texts } from '../texts.ts'
import { earliest } from '../times.ts'
import { withResolvers } from '../with-resolvers.ts'
import { expired, failed, succeeded } from './call-result.ts'
import { createChatOrder } from './chat-order.ts'
import { type Delivery, deliveryOf, type Missing, missingIn } from './delivery.ts'
import { createLateEdits } from './late-edits.ts'
import { callKindOf, type Operation } from './operation.ts'
import type { ChatPace } from './pace.ts'
import { isReported, perform, toPortError } from './perform.ts'
import { createPainter, modeOf, type Picture } from './picture.ts'
import { createReaction } from './reaction.ts'
import { reconcile } from './reconcile.ts'
import { reportedBy, withReports } from './reports.ts'
import { createSchedule, createWake } from './schedule.ts'
import { createNative, isStreamed } from './streaming.ts'
import { editing, intending, intentOf, isAwaited, recovered } from './transitions.ts'
import { createTyping } from './typing.ts'

/** How long a stop waits for the call under way, in ms: its response says whether the message is in the chat. */
const stopGraceMs = 5000

export interface DeliverOptions extends GuardOptions, Pick<LayoutOptions, 'mentions'> {
  readonly port: ChannelPort
  readonly render: Render
  readonly chat: Chat
  readonly replyTo?: MessageRef | undefined
  readonly store: LedgerStore
  /** The ledger's key for a reply. It changes once when the prompt is known, and is the same after a restart. */
  readonly keyOf: (reply: Reply) => string
  readonly pace: ChatPace
  readonly policy: Policy
  readonly texts: Texts
  readonly label?: string | undefined
  readonly keepsText?: ((reply: Reply) => boolean) | undefined
  readonly mayAnswer?: MayAnswer | undefined
  readonly clock: Clock
  /** Returns an unguessable word of the given length. */
  readonly secret: (length: number) => string
  readonly onError: (error: SinkError) => void
}

/** Shows one reply in one chat: computes the difference between screen and reply, and makes one call at a time. */
export interface Deliverer extends AskFinder {
  /** The newest state; it supersedes all earlier ones. */
  show(reply: Reply): void
  /** Resolves when the reply has settled and is shown as far as possible. An amendment makes a new promise. */
  readonly settled: Promise<Delivery>
  /** Stops after the current call, which is aborted if it takes more than `stopGraceMs`. */
  stop(): Promise<void>
}

export function createDeliverer(options: DeliverOptions): Deliverer {
  const { port, chat, clock, pace, policy, onError } = options
  const mode = modeOf(options)
  const native = createNative({ port, clock, isWanted: policy.delivery === 'native' && mode === 'live' })
  /** Aborts at once when the delivery stops: no call waits for its turn any more. */
  const stopped = new AbortController()
  /** Aborts the call under way, if it is not over `stopGraceMs` after that. */
  const cancelled = new AbortController()
  const { signal } = cancelled
  const typing = createTyping({ port, chat, clock, pace, signal })
  const reaction = createReaction({ ...options, signal, stopped: stopped.signal }, policy.reactions)
  const schedule = createSchedule({ pace, policy, limits: port.limits, mode, clock, callOf })
  const order = createChatOrder({ pace, chat, limits: port.limits })
  const isIdempotent = port.limits.idempotent
  /** How a post with an unknown result is resolved. */
  const facts = { isIdempotent, canLookUp: port.lookUp !== undefined && !isIdempotent }
  const canEdit = port.edit !== undefined && port.limits.edits && mode !== 'append'
  const storage = createLedgerStorage(options)
  const current = { reply: () => reply, ledger: () => ledger, loaded: () => loaded }
  const secretOf = cardSecrets(options.secret(32))
  const { findAsks, stoppedBy } = createAskFinder({ ...options, ...current, called: () => called, onChange: answered })
  let ledger: Ledger = emptyLedger
  let reply: Reply | undefined
  let key = ''
  const picture = createPainter()
  let isLoaded = false
  let isWorking = false
  /** `work` was called since the last look at the reply. */
  let isCalled = false
  let isStopped = false
  let isResolved = false
  /** The state seen last, if some of its operations wait for their time. */
  let waiting: Reply | undefined
  const wake = createWake({ clock, readyAt: schedule.readyAt, work })
  const late = createLateEdits(options.store.late, work, onError)
  let result = withResolvers<Delivery>()
  let loaded = Promise.resolve()
  /** Resolves when `work` is over. */
  let ended = Promise.resolve()
  /** Resolves when the last call to the port is over. */
  let called = Promise.resolve()
  let isClosedReported = false
  let stopReports: (() => void) | undefined
  return {
    show,
    findAsks,
    stoppedBy,
    get settled() {
      return result.promise
    },
    stop,
  }

  function show(next: Reply): void {
    if (next === reply) return
    // Taking back prompts does not make it another reply.
    if (reply?.promptIDs.length !== next.promptIDs.length && next.promptIDs.length > 0) key = options.keyOf(next)
    key ||= options.keyOf(next)
    if (!reply) loaded = load()
    if (!reply) reaction.set('seen')
    if (isResolved) result = withResolvers<Delivery>()
    isResolved = false
    // Only while it is not over: a port keeps its listeners, and a sink does not end a reply that it forgets.
    stopReports ??= port.reports?.observe(work)
    reply = next
    // Throttles growing text instead of reconciling on every delta.
    if (waiting?.phase === next.phase && waiting.asks === next.asks) return
    work()
  }

  function answered(requestID: string, state: AskState): void {
    keep({ ...ledger, asks: { ...ledger.asks, [requestID]: state } }).catch(lose)
    work()
  }

  async function load(): Promise<void> {
    ledger = recovered(await storage.load(key), facts)
    isLoaded = true
    work()
  }

  /** Does everything that is due, and sets a timer for the rest. */
  function work(): void {
    isCalled = true
    if (isWorking || isStopped || !isLoaded) return
    isWorking = true
    isCalled = false
    ended = workOn()
      .catch(lose)
      .finally(() => {
        isWorking = false
        if (isCalled) work()
      })
  }

  async function workOn(): Promise<void> {
    while (reply && !isStopped) {
      isCalled = false
      waiting = undefined
      wake.stop()
      const now = clock.now()
      const asked = withGuard(withAsks(ledger, reply, now), guardOf(options))
      const explained = withReasons(asked, options, () => pace.isFirst('closed'))
      late.listen(key)
      const known = late.noted(withReports(expired(explained, { now, limits: port.limits }), port.reports))
      if (known !== ledger) {
        await keep(known)
        late.kept()
        // It may have been stopped or replaced while writing.
        continue
      }
      order.setExclusiveAsk(reply, ledger)
      const { slots, nextAt, isTyping, doing } = pictureOf(reply, now)
      const isClosed = port.reports?.isClosed() === true
      typing.set(isTyping && !isClosed, doing)
      order.noteWaitingAsk(ledger, slots)
      const all = reconcile(ledger, slots, {
        isSettled: reply.phase === 'settled',
        canEdit,
        canRemove: port.remove !== undefined,
        canBeSilent: port.limits.silent,
        isPreviewing: native.previewing !== undefined,
        openSince: native.openSince(),
        ...facts,
        hasTimeFor: order.hasTimeFor,
        isRefused: schedule.isRefused,
        keepsText: options.keepsText?.(reply),
      })
      const operations = all.filter((operation) => native.isDue(operation) && schedule.isDue(operation))
      if (isClosed && all.length > 0) return waitForChat(reply)
      isClosedReported = false
      order.setUrgent(operations, schedule.isHeldBack())
      schedule.wait(operations)
      const giveUpAt = schedule.giveUpAt(reply, operations)
      const reportedAt = operations.length === 0 ? reportedBy(ledger, port.reports) : undefined
      const isReported = reportedAt === undefined || reportedAt <= now
      if (operations.length === 0 && reply.phase === 'settled' && isReported) finish(reply)
      if (giveUpAt !== undefined && giveUpAt <= now) return giveUp()
      const next = operations.find((operation) => schedule.readyAt(operation) <= now)
      if (!next) {
        // A first text that gathers is looked at for each delta: it is short, and may be enough at any of them.
        waiting = operations.length > 0 && !operations.some(schedule.isGathering) ? reply : undefined
        if (order.isBlockedByAsk()) pace.onFree(work)
        const awaitedAt = isReported ? undefined : reportedAt
        return wake.at(earliest(nextAt, native.nextAt(reply, ledger), giveUpAt, awaitedAt), operations)
      }
      const kind = callOf(next)
      const endCall = order.isBehind(next.priority) ? undefined : pace.enter(kind)
      if (!endCall) {
        waiting = reply
        return pace.onFree(work)
      }
      let hasPosted = false
      try {
        called = act(next, kind).then((isDone) => {
          hasPosted = isDone && next.type === 'post'
        })
        await called
      } finally {
        endCall(hasPosted)
      }
    }
  }

  /** Nothing is shown or given up until the chat takes messages again, which the port's reports say. */
  function waitForChat(of: Reply): void {
    waiting = of
    order.setUrgent([], true)
    schedule.wait([])
    schedule.gaveUp()
    if (isClosedReported) return
    isClosedReported = true
    const cure = 'What is to be shown waits until a person writes there.'
    onError(new SinkError('held', `chat ${chat.id}: the platform takes no messages for it at the moment. ${cure}`))
  }

  function finish({ outcome }: Reply): void {
    const delivery = deliveryOf(ledger)
    const isWhole = !delivery.undelivered.some(({ card }) => isAwaited({ type: card }))
    reaction.set(outcome === 'completed' && isWhole ? 'done' : undefined)
    isResolved = true
    unobserve()
    result.resolve(delivery)
  }

  /** Nothing could be shown for `giveUpMs`, so it probably never can be. An amendment tries again. */
  function giveUp(): void {
    isResolved = true
    unobserve()
    order.release()
    schedule.wait([])
    schedule.gaveUp()
    resolveWithout('given-up')
    onError(new SinkError('given-up', `chat ${chat.id}: nothing could be shown for ${policy.giveUpMs} ms, so it ends.`))
  }

  function pictureOf(of: Reply, now: number): Picture {
    return picture(of, {
      ...options,
      secretOf,
      mode,
      native,
      ledger,
      now,
      canEdit,
      isBlocked: order.isBlockedByAsk(),
    })
  }

  function callOf(operation: Operation): CallKind {
    return callKindOf(operation, operation.type === 'post' ? kindOf(operation.slot) : undefined)
  }

  /** How a slot is posted now. Ports can rarely look up a stream, so one whose opening had no result becomes a message. */
  function kindOf(slot: Slot): IntentEntry['kind'] {
    if (slot.file && port.upload) return 'file'
    return native.streaming && isStreamed(slot) && !intentOf(ledger, slot) ? 'stream' : undefined
  }

  /** Resolves with whether it was done. */
  async function act(operation: Operation, call: CallKind): Promise<boolean> {
    ledger = { ...ledger, calls: ledger.calls + 1 }
    if (operation.type === 'post') {
      const kind = kindOf(operation.slot)
      await keep(intending(ledger, operation, { id: options.secret(24), at: clock.now(), canEdit, kind }))
    }
    if (operation.type === 'edit') await keep(editing(ledger, operation))
    if (isStopped) return false
    try {
      const done = await perform(operation, { ...options, ledger, signal, stream: native.streaming })
      schedule.succeeded(operation)
      native.did(operation)
      await outlived(operation, keep(succeeded(ledger, operation, done, { at: clock.now(), port })))
      return true
    } catch (error) {
      if (isTakenOver(error)) throw error
      await outlived(operation, fail(operation, call, toPortError(error)))
      return false
    }
  }

  /** The call was made, also if its result can't be written down as another process took over. */
  async function outlived(operation: Operation, written: Promise<void>): Promise<void> {
    try {
      await written
    } catch (error) {
      if (isTakenOver(error)) await late.tell(key, operation)
      throw error
    }
  }

  /** Another process shows the reply from here on: a call of this one would show it twice. */
  function lose(error: unknown): void {
    if (!isTakenOver(error)) throw error
    if (isStopped) return
    end()
    resolveWithout('taken-over')
  }

  function unobserve(): void {
    stopReports?.()
    stopReports = undefined
  }

  function end(): void {
    isStopped = true
    unobserve()
    late.stop()
    wake.stop()
    typing.set(false)
    order.release()
    schedule.wait([])
  }

  async function fail(operation: Operation, call: CallKind, error: PortError): Promise<void> {
    schedule.failed(operation, call, error)
    if (operation.type === 'preview') native.did(operation)
    const next = failed(ledger, { ...facts, operation, error, at: clock.now() })
    await keep({ ...next, rateLimited: next.rateLimited + (error.type === 'rate-limited' ? 1 : 0) })
    if (isReported(operation, error))
      onError(new SinkError('port', `${operation.type} in chat ${chat.id}: ${error.message}`, { cause: error }))
  }

  async function keep(next: Ledger): Promise<void> {
    ledger = next
    await storage.write(key, next)
  }

  /** Ends the delivery with what is missing. */
  function resolveWithout(type: Missing['type']): void {
    const slots = reply ? pictureOf(reply, clock.now()).slots : []
    result.resolve(deliveryOf(ledger, { messages: missingIn(ledger, slots), type }))
  }

  async function stop(): Promise<void> {
    end()
    stopped.abort()
    const stopTimer = clock.after(stopGraceMs, () => cancelled.abort())
    await loaded
    await ended
    stopTimer()
    resolveWithout('stopped')
  }
}
