import type { Clock, Reply } from '@reply/core'
import { type AskFinder, createAskFinder, type MayAnswer } from '../asks/answering.ts'
import { withAsks } from '../asks/asks.ts'
import { cardSecrets } from '../asks/token.ts'
import type { Policy } from '../config.ts'
import { earliest } from '../earliest.ts'
import { isTakenOver, type RefusedAsk, SinkError } from '../error.ts'
import type { LayoutOptions, Slot } from '../layout/slot.ts'
import type { AskState } from '../ledger/card.ts'
import type { Entry, IntentEntry } from '../ledger/entry.ts'
import { type AnswerRestrictions, guardFrom, withExplainedFirst, withGuard } from '../ledger/guard.ts'
import { addedSince, joinedLedgers, withoutAdded } from '../ledger/join.ts'
import { requestIDOf } from '../ledger/keys.ts'
import { emptyLedger, entryAt, type GrowingText, type Ledger, type LedgerStore } from '../ledger/ledger.ts'
import { createLedgerStorage } from '../ledger/ledger-store.ts'
import type { CallKind } from '../port/limits.ts'
import type { Attachment, ChannelPort, Chat, MessageRef, Render } from '../port/port.ts'
import { FileRefusal, PortError } from '../port/port-error.ts'
import type { DiffControl, Texts } from '../texts.ts'
import { withResolvers } from '../with-resolvers.ts'
import { withExpired, withFailure, withSuccess, withUnread } from './call-result.ts'
import { createChatOrder } from './chat-order.ts'
import { type Delivery, deliveryOf, type Missing, missingIn } from './delivery.ts'
import { createFileLoader, type ReadFile } from './file-loader.ts'
import { createLateEdits } from './late-edits.ts'
import { callKindOf, isAskPost, isFilePost, type Operation, type Post } from './operation.ts'
import type { ChatPace } from './pace.ts'
import { isReported, perform, toPortError } from './perform.ts'
import { canEditIn, createPainter, modeOf, type Picture } from './picture.ts'
import { createReactionSetter } from './reaction.ts'
import { isRemovedOnceReplaced, needsEdit, reconcile } from './reconcile.ts'
import { lastReportDueAt, withReports } from './reports.ts'
import { createSchedule, createWake } from './schedule.ts'
import { createNativeDelivery, opensStream } from './streaming.ts'
import { isAwaited, openIntentOf, recoveredLedger, withEditStarted, withIntent } from './transitions.ts'
import { createTyping } from './typing.ts'

/** How long `stop()` waits for the current call, in ms. Its response says whether the message is in the chat. */
const stopGraceMs = 5000

/** Where and how one reply is shown. */
export interface DelivererOptions extends AnswerRestrictions, Pick<LayoutOptions, 'mentions'> {
  readonly port: ChannelPort
  readonly render: Render
  readonly chat: Chat
  readonly replyTo?: MessageRef | undefined
  readonly store: LedgerStore
  /** Returns the ledger's key for a reply. It changes once the prompt is known, and is the same after a restart. */
  readonly keyOf: (reply: Reply) => string
  readonly pace: ChatPace
  readonly policy: Policy
  readonly texts: Texts
  readonly label?: string | undefined
  readonly page?: URL | undefined
  readonly diff?: DiffControl | undefined
  readonly origin?: string | undefined
  readonly shows?: (() => 'all' | 'asks') | undefined
  readonly joinedPrompt?: ((promptID: string, prompt: NonNullable<Reply['prompt']>) => string | undefined) | undefined
  readonly isQuiet?: (() => boolean) | undefined
  readonly keepsText?: ((reply: Reply) => boolean) | undefined
  readonly mayAnswer?: MayAnswer | undefined
  readonly readFile?: ReadFile | undefined
  readonly clock: Clock
  /** Returns a random string of the given length that can't be guessed. */
  readonly secret: (length: number) => string
  readonly onError: (error: SinkError) => void
}

/** Shows one reply in one chat. Compares the chat with the reply, and makes one call at a time. */
export interface Deliverer extends AskFinder {
  /** Shows this state instead of all earlier ones. */
  show(reply: Reply): void
  /** Resolves when the reply has settled and is shown as far as possible. An amendment makes a new promise. */
  readonly settled: Promise<Delivery>
  /** As in `Sink`. */
  unshownSince(): number | undefined
  /** Stops after the current call, which is aborted if it takes more than `stopGraceMs`. */
  stop(): Promise<void>
}

/** Whether the operation shows text or reasoning. */
function showsText(operation: Operation): boolean {
  return 'slot' in operation && (operation.slot.card.type === 'answer' || operation.slot.card.type === 'reasoning')
}

/** Creates the deliverer of one reply. It loads the ledger at the first `show`. */
export function createDeliverer(options: DelivererOptions): Deliverer {
  const { port, chat, clock, pace, policy, onError } = options
  const mode = modeOf(options)
  const native = createNativeDelivery(port, clock, policy.delivery === 'native' && mode === 'live')
  /** Aborts when the delivery stops, so that no call waits for its turn any more. */
  const stopped = new AbortController()
  /** Aborts the current call if it takes more than `stopGraceMs` after the stop. */
  const cancelled = new AbortController()
  const { signal } = cancelled
  const typing = createTyping(port.typing && showTyping, port.limits, pace, clock)
  const setReaction = policy.reactions ? createReactionSetter(reactToPrompt, pace, clock, stopped.signal) : () => {}
  const schedule = createSchedule({ pace, policy, limits: port.limits, mode, clock, callKindFor })
  const order = createChatOrder(pace, chat, port.limits)
  const isIdempotent = port.limits.idempotent
  /** How a post with an unknown result is resolved. */
  const postResolution = { isIdempotent, canLookUp: port.lookUp !== undefined && !isIdempotent }
  const canEdit = canEditIn(options)
  const storage = createLedgerStorage(options.store, pace.addRecentCalls, onError)
  const current = { reply: () => reply, ledger: () => ledger, loaded: () => loaded }
  const secretOf = cardSecrets(options.secret(32))
  const { findAsks, closedBy } = createAskFinder({
    ...options,
    ...current,
    lastCall: () => lastCall,
    onChange: storeAskState,
  })
  let ledger: Ledger = emptyLedger
  /** The text that an earlier process was showing when it ended. */
  let former: GrowingText | undefined
  let reply: Reply | undefined
  let key = ''
  /** The ledger that was loaded under this key. */
  let loadedLedger = emptyLedger
  /** The key of the newest reply, and whether it names a prompt. */
  let wanted = { key: '', hasPrompt: false }
  /** Whether `key` names a prompt. */
  let hasPrompt = false
  const picture = createPainter(options, secretOf, native)
  let isLoaded = false
  let isWorking = false
  /** `startWork` was called again since the current pass began. */
  let isCalledAgain = false
  let isStopped = false
  let isResolved = false
  /** The newest reply, while some of its operations wait for their time, for the chat or for its turn. */
  let waitingReply: Reply | undefined
  const wake = createWake(clock, schedule.readyAt, startWork)
  const files = createFileLoader({ readFile: options.readFile, limits: port.limits.files, clock, onLoaded: startWork })
  const lateEdits = createLateEdits(options.store.late, startWork, onError)
  let result = withResolvers<Delivery>()
  let loaded = Promise.resolve()
  /** Resolves when the current pass has ended. */
  let ended = Promise.resolve()
  /** Resolves when the last call to the port has ended. */
  let lastCall = Promise.resolve()
  let isClosedReported = false
  /** When the last call succeeded, in ms since the epoch. */
  let calledAt: number | undefined
  let unshownSince: number | undefined
  let stopReports: (() => void) | undefined
  return {
    show,
    findAsks,
    closedBy,
    get settled() {
      return result.promise
    },
    unshownSince: () => unshownSince,
    stop,
  }

  /**
   * Shows this reply instead of the former one. Does nothing for the same object. The first reply loads the ledger. A reply
   * after `settled` has resolved makes a new promise. While operations wait for their time, a text that only grew starts no
   * work.
   */
  function show(next: Reply): void {
    if (next === reply) return
    const hasPrompts = next.promptIDs.length > 0
    // Taking back prompts does not make it another reply.
    if (!reply || (hasPrompts && reply.promptIDs.length !== next.promptIDs.length))
      wanted = { key: options.keyOf(next), hasPrompt: hasPrompts }
    if (!reply) loaded = loadLedger().catch(stopIfTakenOver)
    if (!reply) unshownSince = clock.now()
    if (isResolved) result = withResolvers<Delivery>()
    isResolved = false
    // Only until the reply ends, because a port keeps its listeners.
    stopReports ??= port.reports?.observe(startWork)
    reply = next
    if (waitingReply?.phase === next.phase && waitingReply.asks === next.asks && key === wanted.key) return
    startWork()
  }

  /** Shows or hides the typing notice. Does nothing if the port has none. */
  async function showTyping(on: boolean, doing: string | undefined): Promise<void> {
    await port.typing?.(on, { chat, signal, ...(doing !== undefined && { doing }) })
  }

  /** Sets the reaction on the message with the prompt. Does nothing without that message. */
  async function reactToPrompt(sign: 'seen' | 'done' | undefined): Promise<void> {
    if (options.replyTo) await port.react?.(options.replyTo, sign, { chat, signal })
  }

  /** Stores an ask's state that an answer has changed, and starts work to show it. Stops if another process took over. */
  function storeAskState(requestID: string, state: AskState): void {
    storeLedger({ ...ledger, asks: { ...ledger.asks, [requestID]: state } }).catch(stopIfTakenOver)
    startWork()
  }

  /**
   * Loads the ledger under the key of the reply, sets the reaction `seen`, and starts work. Makes no call before, because the calls of
   * an earlier process count. Rejects only if another process took over.
   */
  async function loadLedger(): Promise<void> {
    ;({ key, hasPrompt } = wanted)
    ledger = await loadUnder(key)
    former = ledger.growing
    isLoaded = true
    setReaction('seen')
    startWork()
  }

  /** Loads a ledger. `isSameReply` as in `LedgerStorage`. Rejects only if another process took over. */
  async function loadUnder(newKey: string, isSameReply = false): Promise<Ledger> {
    loadedLedger = recoveredLedger(await storage.load(newKey, isSameReply), postResolution)
    const { recent } = loadedLedger
    if (recent) {
      pace.addRecentCalls(recent)
      schedule.continueAfter(Math.max(...Object.values(recent.times).flat()))
    }
    return loadedLedger
  }

  /**
   * Goes on under the key of the newest reply, with what an earlier process posted under it. If the former key names no
   * prompt, its ledger is this reply's, too. Otherwise it is another reply's, and keeps what was loaded. What was posted since
   * is this reply's. Rejects only if another process took over.
   */
  async function followKey(): Promise<void> {
    const { key: newKey, hasPrompt: hasNewPrompt } = wanted
    const before = loadedLedger
    const isSameReply = !hasPrompt
    if (!isSameReply && ledger !== before) await storage.write(key, withoutAdded(before, ledger))
    const earlier = await loadUnder(newKey, isSameReply)
    // It may have changed meanwhile.
    const own = isSameReply ? ledger : addedSince(before, ledger)
    key = newKey
    hasPrompt = hasNewPrompt
    if (!isSameReply || earlier !== emptyLedger) former = earlier.growing
    if (earlier !== emptyLedger) await storeLedger(joinedLedgers(earlier, own, isRemovedCopy))
    else if (own.calls > 0) await storeLedger(own)
    else ledger = own
  }

  /** Whether a message is removed from the chat when another one has its place. */
  function isRemovedCopy(entry: Entry): boolean {
    return isRemovedOnceReplaced(entry, { canEdit, canRemove: port.remove !== undefined })
  }

  /**
   * Starts to perform what is due. If that is already going on, another pass follows. Does nothing until the ledger is
   * loaded, and after the stop.
   */
  function startWork(): void {
    isCalledAgain = true
    if (isWorking || isStopped || !isLoaded) return
    isWorking = true
    isCalledAgain = false
    ended = performDue()
      .catch(stopIfTakenOver)
      .finally(() => {
        isWorking = false
        if (isCalledAgain) startWork()
      })
  }

  /**
   * Performs due operations one after the other, each for the newest reply. Returns when nothing is due, or the chat is
   * busy or closed, and sets a timer or a listener for the rest. Resolves `settled` once a settled reply is shown and its
   * delivery reports have arrived or are overdue, and gives up after `giveUpMs` without progress. Writes a changed ledger
   * before the next call.
   */
  async function performDue(): Promise<void> {
    while (reply && !isStopped) {
      isCalledAgain = false
      waitingReply = undefined
      wake.stop()
      if (key !== wanted.key) {
        await followKey()
        // It may have been stopped or replaced while reading.
        continue
      }
      const now = clock.now()
      const asked = withGuard(withAsks(ledger, reply, now), guardFrom(options))
      const explained = withExplainedFirst(asked, options, () => pace.claimTopic('closed'))
      lateEdits.listen(key)
      const known = lateEdits.markUnsure(
        withReports(withExpired(explained, { now, limits: port.limits }), port.reports),
      )
      if (known !== ledger) {
        await storeLedger(known)
        lateEdits.confirmReports()
        // It may have been stopped or replaced while writing.
        continue
      }
      order.setExclusiveAsk(reply, ledger)
      const shownReply = reply
      const { slots, nextAt, isTyping, doing, growing } = pictureOf(reply, now)
      const isClosed = port.reports?.isClosed() === true
      typing.set(isTyping && !isClosed, doing)
      order.setWaitingAsk(ledger, slots)
      const all = reconcile(ledger, slots, {
        isSettled: reply.phase === 'settled',
        canEdit,
        canRemove: port.remove !== undefined,
        canBeSilent: port.limits.silent,
        isPreviewing: native.previewing !== undefined,
        closeIfOpenedBy: native.closeIfOpenedBy(),
        ...postResolution,
        hasTimeFor: order.hasTimeFor,
        isRefused: schedule.isRefused,
        keepsText: options.keepsText?.(reply),
        isQuiet: options.isQuiet?.(),
      })
      const operations = all.filter((operation) => native.isDue(operation) && schedule.isDue(operation))
      if (isClosed && all.length > 0) return waitForChat(reply)
      const isMore = operations.some(({ priority }) => priority !== 'status')
      unshownSince = isMore ? (unshownSince ?? calledAt ?? now) : undefined
      isClosedReported = false
      order.setUrgent(operations, schedule.isHeldBack())
      schedule.setWaitingText(operations)
      if (reply.phase === 'settled') schedule.endText('settled')
      const giveUpAt = schedule.giveUpAt(reply, operations)
      const reportsDueAt = operations.length === 0 ? lastReportDueAt(ledger, port.reports) : undefined
      const isReported = reportsDueAt === undefined || reportsDueAt <= now
      if (operations.length === 0 && reply.phase === 'settled' && ledger.growing) {
        await storeLedger({ ...ledger, growing: undefined })
        continue
      }
      if (operations.length === 0 && reply.phase === 'settled' && isReported) resolveSettled(reply, slots)
      if (giveUpAt !== undefined && giveUpAt <= now) return giveUp()
      const next = operations.find((operation) => schedule.readyAt(operation) <= now && hasFiles(operation, shownReply))
      if (!next) files.dropLoaded()
      if (!next) {
        // A first text that gathers is looked at for each delta: it is short, and may be enough at any of them.
        // So it is while only a status waits, which new text precedes.
        const isTextWaiting = operations.some(({ priority }) => priority !== 'status')
        waitingReply = isTextWaiting && !operations.some(schedule.isGathering) ? reply : undefined
        if (order.isBlockedByAsk()) pace.onFree(startWork)
        const awaitedAt = isReported ? undefined : reportsDueAt
        const waiting = operations.filter((operation) => !isFilePost(operation) || !files.isLoading(operation.slot))
        return wake.wakeAt(earliest(nextAt, native.nextAt(reply, ledger), giveUpAt, awaitedAt), waiting)
      }
      const filePost = isFilePost(next) ? next : undefined
      const read = filePost && files.loadedFor(filePost.slot)
      if (read instanceof FileRefusal) {
        files.release()
        if (filePost) await storeUnread(filePost, read)
        continue
      }
      const kind = callKindFor(next)
      const endCall = order.isBehind(next.priority) ? undefined : pace.startCall(kind)
      if (!endCall) {
        waitingReply = reply
        return pace.onFree(startWork)
      }
      let hasPosted = false
      try {
        lastCall = performAndRecord(next, kind, growing, read).then((isDone) => {
          hasPosted = isDone && next.type === 'post'
        })
        await lastCall
      } finally {
        if (filePost) files.release()
        endCall(hasPosted)
      }
    }
  }

  /**
   * Makes no calls and gives up nothing until the port reports that the chat accepts messages again. Reports
   * `chat-closed` once.
   */
  function waitForChat(shownReply: Reply): void {
    waitingReply = shownReply
    unshownSince = undefined
    files.release()
    order.setUrgent([], true)
    schedule.setWaitingText([])
    schedule.restartGiveUp()
    if (isClosedReported) return
    isClosedReported = true
    const cure = 'The reply will be shown when a person writes there.'
    onError(new SinkError('chat-closed', `Chat ${chat.id} accepts no messages at the moment. ${cure}`))
  }

  /** Whether the newest message of the chat says that the run was stopped. */
  function saysStoppedAtEnd(slots: readonly Slot[]): boolean {
    const slot = slots.find(({ saysStopped }) => saysStopped)
    if (!slot || !pace.hasPostedLast()) return false
    const entry = entryAt(ledger, slot.key)
    return entry?.state === 'shown' && !needsEdit(entry, slot)
  }

  /**
   * Resolves `settled` with what the ledger records. Sets the reaction `done` if the run completed and its answer is
   * delivered, and otherwise removes the reaction.
   */
  function resolveSettled({ outcome }: Reply, slots: readonly Slot[]): void {
    const delivery = { ...deliveryOf(ledger), ...(saysStoppedAtEnd(slots) && { saysStopped: true as const }) }
    const isWhole = !delivery.undelivered.some(({ card }) => isAwaited({ type: card }))
    setReaction(outcome === 'completed' && isWhole ? 'done' : undefined)
    isResolved = true
    stopListeningToReports()
    result.resolve(delivery)
  }

  /**
   * Resolves `settled` with the missing messages and reports `given-up`. Nothing could be shown for `giveUpMs`, so it
   * probably never can be. An amendment tries again.
   */
  function giveUp(): void {
    isResolved = true
    unshownSince = undefined
    stopListeningToReports()
    files.release()
    order.release()
    schedule.endText('settled')
    schedule.restartGiveUp()
    resolveWithMissing('given-up')
    onError(
      new SinkError(
        'given-up',
        `Chat ${chat.id}: no message could be shown for ${policy.giveUpMs} ms, so the reply was given up.`,
      ),
    )
  }

  /** Returns the messages that the chat should show now. */
  function pictureOf(shownReply: Reply, now: number): Picture {
    return picture(shownReply, ledger, { now, isBlocked: order.isBlockedByAsk(), former })
  }

  /** Returns the kind of call that performs the operation in this chat. */
  function callKindFor(operation: Operation): CallKind {
    return callKindOf(operation, operation.type === 'post' ? postKindOf(operation.slot) : undefined)
  }

  /**
   * Returns how a slot is posted. A stream whose opening had an unknown result becomes a message, because few ports can
   * look it up.
   */
  function postKindOf(slot: Slot): IntentEntry['kind'] {
    if ((slot.file || slot.attachments) && port.upload) return 'file'
    return native.streaming && opensStream(slot) && !openIntentOf(ledger, slot) ? 'stream' : undefined
  }

  /**
   * Writes the operation to the ledger, performs it, and writes the result. `growing` is the text that it may show the end of.
   * Resolves with whether it succeeded. If the deliverer was stopped during the first write, takes that back and resolves with false.
   * Rejects only if another process took over.
   */
  async function performAndRecord(
    operation: Operation,
    call: CallKind,
    growing: GrowingText | undefined,
    attachments: readonly Attachment[] | undefined,
  ): Promise<boolean> {
    ledger = { ...ledger, calls: ledger.calls + 1, ...(showsText(operation) && { growing }) }
    if (operation.type === 'post') {
      await storeLedger(withNewIntent(operation))
    }
    if (operation.type === 'edit') await storeLedger(withEditStarted(ledger, operation))
    if (isStopped) {
      // Otherwise the next process doubts a call that was never made.
      const unmade = new PortError('unreachable', 'Not sent, because the delivery was stopped.')
      const undone = withFailure(ledger, { ...postResolution, operation, error: unmade, at: clock.now() })
      await storeLedger({ ...undone, calls: ledger.calls - 1 })
      return false
    }
    try {
      const done = await perform(operation, {
        ...options,
        ledger,
        signal,
        stream: native.streaming,
        files: attachments,
      })
      calledAt = clock.now()
      unshownSince = undefined
      schedule.recordSuccess(operation)
      native.record(operation)
      await reportIfTakenOver(operation, storeLedger(withSuccess(ledger, operation, done, { at: clock.now(), port })))
      return true
    } catch (error) {
      if (isTakenOver(error)) throw error
      await reportIfTakenOver(operation, recordFailure(operation, call, toPortError(error)))
      return false
    }
  }

  /** Returns the ledger with the intent of a post. */
  function withNewIntent(post: Post): Ledger {
    const kind = postKindOf(post.slot)
    return withIntent(ledger, post, { id: options.secret(24), at: clock.now(), canEdit, kind })
  }

  /** Records that the files of a post can't be read. A note then takes their place. */
  async function storeUnread(post: Post, error: FileRefusal): Promise<void> {
    await storeLedger(withUnread(withNewIntent(post), post, error, clock.now()))
    onError(new SinkError('port', `A file for chat ${chat.id}: ${error.message}`, { cause: error }))
  }

  /** Whether the operation can be performed without reading files first. Begins to read those that it needs. */
  function hasFiles(operation: Operation, shownReply: Reply): boolean {
    return !isFilePost(operation) || files.isLoaded(operation.slot, shownReply)
  }

  /**
   * Waits for the write of a call's result. Rejects as the write does. If another process took over before it, first reports
   * an edit to that process.
   */
  async function reportIfTakenOver(operation: Operation, written: Promise<void>): Promise<void> {
    try {
      await written
    } catch (error) {
      if (isTakenOver(error)) await lateEdits.reportIfEdit(key, operation)
      throw error
    }
  }

  /**
   * Stops when another process shows the reply, because a call of this one would show it twice, and resolves `settled` with
   * the missing messages. Does nothing if it was stopped before. Throws any other error.
   */
  function stopIfTakenOver(error: unknown): void {
    if (!isTakenOver(error)) throw error
    if (isStopped) return
    stopWorking()
    resolveWithMissing('taken-over')
  }

  /** Stops listening to delivery reports. Does nothing if it doesn't listen. */
  function stopListeningToReports(): void {
    stopReports?.()
    stopReports = undefined
  }

  /** Starts no more calls, and removes all timers and listeners. The current call continues. */
  function stopWorking(): void {
    isStopped = true
    unshownSince = undefined
    stopListeningToReports()
    lateEdits.stopListening()
    wake.stop()
    files.release()
    typing.set(false)
    order.release()
    schedule.endText('stopped')
  }

  /** Writes a failed call to the ledger, delays the next one, and reports the error if the host should know. */
  async function recordFailure(operation: Operation, call: CallKind, error: PortError): Promise<void> {
    schedule.recordFailure(operation, call, error)
    if (operation.type === 'preview') native.record(operation)
    const next = withFailure(ledger, { ...postResolution, operation, error, at: clock.now() })
    await storeLedger({ ...next, rateLimited: next.rateLimited + (error.type === 'rate-limited' ? 1 : 0) })
    if (isReported(operation, error))
      onError(
        new SinkError('port', `${operation.type} in chat ${chat.id}: ${error.message}`, {
          cause: error,
          refusedAsk: refusedAskOf(operation, error),
        }),
      )
  }

  /** Replaces the current ledger at once, and resolves when it has been written. Rejects only if another process took over. */
  async function storeLedger(next: Ledger): Promise<void> {
    ledger = next
    await storage.write(key, { ...next, recent: pace.recentCalls() })
  }

  /** Resolves `settled` with the messages that were not shown. */
  function resolveWithMissing(type: Missing['type']): void {
    const slots = reply ? pictureOf(reply, clock.now()).slots : []
    result.resolve(deliveryOf(ledger, { messages: missingIn(ledger, slots), type }))
  }

  /**
   * Waits for the current call, which is aborted after `stopGraceMs`. Then resolves `settled` with the missing
   * messages.
   */
  async function stop(): Promise<void> {
    stopWorking()
    stopped.abort()
    const stopTimer = clock.after(stopGraceMs, () => cancelled.abort())
    await loaded
    await ended
    // A preview is shown without a write of the ledger.
    if (native.previewing && ledger.growing) await storeLedger(ledger).catch(stopIfTakenOver)
    stopTimer()
    resolveWithMissing('stopped')
  }
}

/** Returns the ask whose post failed for good. Undefined for other operations and errors. */
function refusedAskOf(operation: Operation, { type, isOfChat }: PortError): RefusedAsk | undefined {
  if (!isAskPost(operation) || (type !== 'refused' && type !== 'gone')) return undefined
  const requestID = requestIDOf(operation.slot.card.key)
  return requestID === undefined ? undefined : { requestID, isOfChat: isOfChat || type === 'gone' }
}
