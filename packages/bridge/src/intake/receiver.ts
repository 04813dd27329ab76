import { randomUUID } from 'node:crypto'
import { stopwatch } from '@reply/core/internal'
import type { SteadyClock } from '@reply/core/source'
import type { AnswerInbound, Inbound } from '@reply/sink'
import { type BridgeConnection, NotTakenError } from '@reply/sink/channel'
import { createRecent, unsealToken } from '@reply/sink/internal'
import type { ChatMigrations } from '../chats/chat-migrations.ts'
import { lateHint } from '../chats/late-edits.ts'
import { isOurThread, sessionOfMessage } from '../chats/our-messages.ts'
import type { SeenMessages } from '../chats/seen-messages.ts'
import { isOwnCommand } from '../commands/names.ts'
import type { Mirrors } from '../config/mirrors.ts'
import type { RouterConfig } from '../config/schema.ts'
import { isTakenOver, toError } from '../error.ts'
import { type BridgeObserver, eventPlace } from '../events/emit.ts'
import type { InboundEvent } from '../events/event.ts'
import type { HeldLease } from '../members/membership.ts'
import type { Activity } from '../notices/activity.ts'
import type { People } from '../people/people.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { isOldMessage } from '../runs/backlog.ts'
import { pressMs, pressPrefix } from '../state/forwarded-press.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { shardIn, wakePrefix } from '../state/shard-of.ts'
import type { SharedState } from '../state/state.ts'
import { StoreError, type Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { waitAtMost } from '../timers.ts'
import type { Facts } from './facts.ts'
import { fileNameOf } from './file-name.ts'
import { enqueueInbox, inboxPrefix } from './inbox.ts'
import type { InboundPress, Intake } from './intake.ts'
import { isSurelyAddressed, judge } from './judge.ts'
import { createPressForwarder } from './press-forwarder.ts'

/** Receives what people write and press, in every process. The owner of a chat handles it, which may be another process. */
export interface Receiver {
  /**
   * Resolves when the message is stored, or need not be stored, or when the press was answered. `id` is equal if the platform
   * delivers the same action again. Rejects only with a `NotTakenError`: this process may not receive, has too much to receive,
   * or can't write the state.
   */
  receive(channel: string, inbound: Received, id?: string): Promise<void>
  /** Call it with each hint of the store. Begins what the hint is about, if that is for this process. */
  onHint(hint: string): void
  /** Begins to look at the stored messages every 5 s, because hints may be lost, and to notice when the process is suspended. */
  start(): void
  /** Stops looking. */
  stop(): void
}

type InboundText = Extract<Inbound, { type: 'text' }>
/** What a channel delivers, and what people do on the pages of runs. */
export type Received = InboundText | InboundPress
type Refusal = 'stranger' | 'anonymous' | 'may-not' | 'too-long'

/** A refusal is sent to a person in a place at most once in this time, in ms. */
const refuseAgainMs = 3_600_000
/** How many albums a process remembers. Their messages come within seconds. */
const mostAlbums = 1000
/** How long the state remembers an album, in ms, also for the next process. */
const albumRowMs = 3_600_000
/** How long sending a refusal may take, in ms: as long as an answer waits for the budget of its chat. */
const answeringMs = 60_000
/**
 * How long a message may take until it is stored, in ms, if its platform redelivers messages. Shorter than any channel waits
 * before it acknowledges a message that is still being handled.
 */
const holdMs = 2000
/**
 * How many actions may be received at the same time. A PostgreSQL that makes 600 commits a second stores that many well within
 * `holdMs`, and with texts of the longest length they need about 50 MB. Beyond that, the platform keeps them.
 */
const mostReceipts = 500
/** How often the stored messages are looked at without a hint, in ms. */
const lookMs = 5000
/** How often a process notes that it runs, in ms. */
const pulseMs = 250
/** A process that has not noted for this long did not run, in ms. */
const suspendedMs = 2 * pulseMs
/** After this many notes in time, a process has caught up with what arrived while it did not run. */
const notesInTime = 4

/** Creates the receiver of a process. */
export function createReceiver(options: {
  /** The name of this member, unique for each process. */
  readonly member: string
  readonly router: Pick<RouterConfig, 'maxTextLength' | 'backlogAfterMs'>
  /** For rows that are found by their whole key, and to learn which shards have something to do. */
  readonly state: Pick<SharedState, 'read' | 'list' | 'queues' | 'commitWithoutLease'>
  /** Returns the rows of a shard. */
  readonly stateOf: (shard: string) => Pick<SharedState, 'commitWithoutLease'>
  /** Returns the shard of a place. */
  readonly shardOf: (place: ChatPlace) => string
  /** The intakes of the shards that this process owns and has restored, by shard. */
  readonly intakes: ReadonlyMap<string, Intake>
  /** Called with a shard for which a session may be handed over. Ignores one that this process does not own. */
  readonly onWoken: (shard: string) => void
  /** Called when another process may have reported an edit that it made too late. */
  readonly onLate: () => void
  readonly facts: Pick<Facts, 'look' | 'lookAtAll'>
  /** Whether this process may receive, and make calls. */
  readonly lease: Pick<HeldLease, 'whenHeld' | 'isHeld'>
  /** Changes of the ids of chats, also those that another process stored. */
  readonly moves: Pick<ChatMigrations, 'loadMoves' | 'learnMove'>
  readonly connections: ReadonlyMap<string, BridgeConnection>
  readonly people: Pick<People, 'personOf'>
  readonly mirrors: Pick<Mirrors, 'isNamed'>
  readonly seen: Pick<SeenMessages, 'writeSeen'>
  readonly activity: Pick<Activity, 'note'>
  readonly clock: SteadyClock
  readonly emit: BridgeObserver
  readonly onError: (error: Error) => void
}): Receiver {
  const { member, router, state, stateOf, shardOf, intakes, onWoken, onLate } = options
  const { facts, connections, people, seen } = options
  const { loadMoves, learnMove } = options.moves
  const { clock, onError } = options
  const { whenHeld, isHeld } = options.lease
  const forwarder = createPressForwarder({ member, state, stateOf, shardOf, clock, onError })
  /** The rows of albums in shared chats with a message that is addressed to the bot. */
  const addressedAlbums = createRecent<true>(mostAlbums)
  let receipts = 0
  let stopTimer = (): void => {}
  let stopPulse = (): void => {}
  /** How long ago this process noted that it runs, in ms. */
  let sincePulseMs = (): number => 0
  /** Since when, in ms, this process may have unread actions in its sockets, because it did not run. */
  let behind: { readonly sinceMs: () => number; readonly notesLeft: number } | undefined
  return { receive, onHint, start, stop }

  /** Returns the intake of a place. Undefined if another member owns the place, or will. */
  function ownerOf(place: ChatPlace): Intake | undefined {
    const intake = intakes.get(shardOf(place))
    return intake?.isEnded() ? undefined : intake
  }

  function start(): void {
    lookAgain()
    pulse()
  }

  function stop(): void {
    stopTimer()
    stopPulse()
    // It may still receive.
    sincePulseMs = () => 0
    behind = undefined
  }

  /** Looks at everything that is stored for this process each time `lookMs` have passed. */
  function lookAgain(): void {
    stopTimer = clock.after(lookMs, () => {
      lookAgain()
      void look()
      facts.lookAtAll()
      onLate()
    })
  }

  /** Notes regularly that this process runs. */
  function pulse(): void {
    if (sincePulseMs() > suspendedMs)
      // While it catches up, it may stall again, and then still has not read what arrived before.
      behind ??= { sinceMs: sincePulseMs, notesLeft: notesInTime }
    else if (behind) behind = behind.notesLeft > 1 ? { ...behind, notesLeft: behind.notesLeft - 1 } : undefined
    sincePulseMs = stopwatch(clock)
    stopPulse = clock.after(pulseMs, pulse)
  }

  /**
   * Returns how long an action that is read now may have waited in this process's sockets, in ms: since the process was
   * suspended, for example by SIGSTOP or because the computer slept. Platforms don't send when a button was pressed.
   */
  function mostWaitedMs(): number {
    if (behind) return behind.sinceMs()
    return sincePulseMs() > suspendedMs ? sincePulseMs() : 0
  }

  /** Loads changed ids of chats, and then has the owned shards look for which messages, presses or sessions are stored. Reports errors. */
  async function look(): Promise<void> {
    try {
      await loadMoves()
      const [queues, presses, wakes] = await Promise.all([
        state.queues(inboxPrefix),
        state.list(pressPrefix),
        state.list(wakePrefix),
      ])
      const shardsOf = (keys: readonly string[]): ReadonlySet<string> => new Set(keys.map(shardIn))
      for (const shard of shardsOf([...queues, ...presses.map(({ key }) => key)])) void intakes.get(shard)?.drain()
      for (const shard of shardsOf(wakes.map(({ key }) => key))) onWoken(shard)
    } catch (error) {
      // The bridge may have stopped meanwhile.
      if (!(error instanceof StoreError && error.type === 'closed')) onError(toError(error))
    }
  }

  /**
   * Looks at what the hint names: messages of a place or a shard, presses or facts of a shard, an answer to a press of this member, or
   * everything.
   */
  function onHint(hint: string): void {
    const [kind, name = '', ...place] = hint.split('/')
    // Members of earlier versions name only the shard.
    if (kind === 'inbox') return void intakes.get(name)?.drain('messages', place.join('/') || undefined)
    if (kind === 'press') return void intakes.get(name)?.drain('presses')
    if (kind === 'fact') return facts.look(name)
    if (hint === `answer/${member}`) return forwarder.look()
    if (kind === 'wake') return onWoken(name)
    if (hint === lateHint) return onLate()
    // Messages of that chat have later hints, so they are read once its new id is known.
    if (hint === 'moved') return void loadMoves().catch(onError)
    if (hint !== '') return
    forwarder.look()
    void look()
    facts.lookAtAll()
    onLate()
  }

  /** Receives an action, and emits an event if that is left to a later delivery. */
  async function receive(channel: string, received: Received, id: string = randomUUID()): Promise<void> {
    try {
      await receiveUnlessFull(channel, received, id)
    } catch (error) {
      emitInbound(options, { channel, chat: received.chat }, received, 'postponed')
      throw error
    }
  }

  /** Receives an action, unless too many are being received. An action that is never delivered again is always received. */
  async function receiveUnlessFull(channel: string, received: Received, id: string): Promise<void> {
    const deliversOnce = isDeliveredOnce(channel, received)
    if (receipts >= mostReceipts && !deliversOnce) throw new NotTakenError()
    const receipt = countReceipt()
    await receiveHeld(channel, received, id, receipt).finally(receipt.end)
  }

  /** Whether a platform never delivers an action again. A page tells its person, who can repeat it. */
  function isDeliveredOnce(channel: string, { type }: Received): boolean {
    return type !== 'page' && connections.get(channel)?.deliversOnce === true
  }

  /** Counts a receipt until its `end` was called as often as its `begin`, and once more. */
  function countReceipt(): { readonly begin: () => void; readonly end: () => void } {
    let open = 1
    receipts += 1
    const end = (): void => {
      open -= 1
      if (open === 0) receipts -= 1
    }
    const begin = (): void => {
      open += 1
    }
    return { begin, end }
  }

  /**
   * Stores, ignores or refuses a message, or handles a press. Waits until this process may receive, at most `holdMs` if the
   * channel delivers messages again. Rejects only with a `NotTakenError`: it may not receive by then or meanwhile, or a message
   * that is delivered again is not stored within `holdMs`. Reports other errors, and answers the person.
   */
  async function receiveHeld(
    channel: string,
    received: Received,
    id: string,
    receipt: ReturnType<typeof countReceipt>,
  ): Promise<void> {
    const deliversOnce = isDeliveredOnce(channel, received)
    const until = clock.now() + holdMs
    const [waitedMs, sinceReadMs] = [mostWaitedMs(), stopwatch(clock)]
    const sinceReceivedMs = (): number => waitedMs + sinceReadMs()
    // The platform may redeliver it, to this process or to another one.
    if (!isHeld()) await (deliversOnce ? whenHeld() : waitAtMost(whenHeld(), holdMs, clock)).catch(() => {})
    if (!isHeld()) throw new NotTakenError()
    const inbound = withLeaseCheck(received)
    ownerOf({ channel, chat: inbound.chat })?.noteActive({ channel, chat: inbound.chat })
    options.activity.note(channel, inbound.actor)
    try {
      if (inbound.type !== 'text') await receivePress(channel, inbound, id, sinceReceivedMs)
      else if (deliversOnce) await receiveText(channel, inbound, sinceReceivedMs)
      else await receiveTextUntil(channel, inbound, sinceReceivedMs, until, receipt)
    } catch (error) {
      if (error instanceof NotTakenError) throw error
      onError(toError(error))
      if (isTakenOver(error) || (error instanceof StoreError && !isHeld())) throw new NotTakenError()
      await tell(channel, inbound, texts.notTaken)
    }
  }

  /** Tells the person what became of an action. The platform's Stop can only be answered in the chat. */
  async function tell(channel: string, inbound: Received, text: string): Promise<void> {
    if (inbound.type !== 'stop') return await inbound.answer(text)
    const signal = await whenHeld().catch(() => undefined)
    if (signal) await connections.get(channel)?.post({ chat: inbound.chat, text, signal })
  }

  /** Makes `answer` wait until calls are allowed, and do nothing if they never are. The platform's Stop has no `answer`. */
  function withLeaseCheck<One extends Received>(inbound: One): One {
    if (inbound.type === 'stop') return inbound
    const answer: AnswerInbound = async (text) => {
      const signal = await whenHeld().catch(() => undefined)
      if (signal) await inbound.answer(text)
    }
    return { ...inbound, answer }
  }

  /**
   * Like `receiveText`. Rejects with a `NotTakenError` if that takes longer, because a state that can't be reached leaves open
   * for how long. If the message is stored after all, it is handled, and what the platform delivers again is a repeat.
   */
  async function receiveTextUntil(
    channel: string,
    text: InboundText,
    sinceReceivedMs: () => number,
    until: number,
    receipt: ReturnType<typeof countReceipt>,
  ): Promise<void> {
    let isDone = false
    receipt.begin()
    const received = receiveText(channel, text, sinceReceivedMs)
      .then(() => {
        isDone = true
      })
      .finally(receipt.end)
    await waitAtMost(received, Math.max(0, until - clock.now()), clock)
    if (isDone) return
    received.catch((error: unknown) => onError(toError(error)))
    throw new NotTakenError()
  }

  /**
   * Ignores or refuses the message, or stores it for the owner of the chat, and emits an event with that verdict. A message that
   * was stored before is not handled again. One beyond the rate limit is refused, by the owner.
   */
  async function receiveText(channel: string, text: InboundText, sinceReceivedMs: () => number): Promise<void> {
    const place = { channel, chat: text.chat }
    const album = albumRowOf(place, text)
    // At once, because the other messages of the album may be handled at the same time.
    if (album !== undefined && isSurelyAddressed(text)) addressedAlbums.set(album, true)
    await learnMove(place)
    const person = people.personOf(channel, text.actor)
    const isCommand = text.isCommand && isOwnCommand(text.text)
    const isOfAddressed = album !== undefined && (await isAddressedAlbum(album))
    const isOurs = isOfAddressed || (!isSurelyAddressed(text) && !isCommand && (await isOurMessage(place, text)))
    const verdict = judge(text, { person, isOurs, isOwnCommand: isCommand, router })
    const report = (result: InboundEvent['verdict'], why?: string): void =>
      emitInbound(options, place, text, result, why)
    if (verdict.type === 'ignored') return report('ignored')
    if (verdict.type === 'refused') {
      report('refused', verdict.why)
      return await answerRefusal(place, text, verdict.why)
    }
    const isOld = isOldMessage(text.messageRef, router.backlogAfterMs, clock.wall())
    const entry = { ...promptOf(place, text, clock.now()), ...(isOld && ({ isOld: true } as const)) }
    const writes: Write[] = [seen.writeSeen(entry, entry.messageRef, sinceReceivedMs())]
    if (album !== undefined) writes.push({ type: 'put', key: album, value: '', expiresInMs: albumRowMs })
    const result = await storeForOwner(entry, text, writes)
    if (result !== 'too-many') return report(result)
    report('refused', result)
    await answerOnce(place, text, texts.tooMany)
  }

  /** Whether a message of an album is addressed to the bot, also if another member received it. */
  async function isAddressedAlbum(row: string): Promise<boolean> {
    if (!addressedAlbums.has(row) && (await state.read(row)) !== undefined) addressedAlbums.set(row, true)
    return addressedAlbums.has(row)
  }

  /**
   * Has the owner take the message if that is this process. Otherwise stores it for the owner, which has not begun it, and sends a
   * hint. The owner's commit has its lease, so that a message counts as tried only if this process may begin it. Commits `more`
   * with the message, which is a repeat if one of these writes conflicts.
   */
  async function storeForOwner(
    entry: QueuedPrompt,
    text: InboundText,
    more: readonly Write[],
  ): Promise<'taken' | 'repeated' | 'too-many'> {
    try {
      const owner = ownerOf(entry)
      if (owner) return await owner.take(entry, text, more)
    } catch (error) {
      // Another member owns the chat by now, and this one may still receive.
      if (!isTakenOver(error) || !isHeld()) throw error
    }
    const shard = shardOf(entry)
    const writes = [...more, enqueueInbox({ ...entry, isUnbegun: true })]
    const hint = `inbox/${shard}/${placeKey(entry)}`
    return (await stateOf(shard).commitWithoutLease(writes, { hint })) ? 'taken' : 'repeated'
  }

  /** Whether a message is in a thread that the bot works in, or replies to a message of the bot whose session is remembered. */
  async function isOurMessage(place: ChatPlace, { replyTo }: InboundText): Promise<boolean> {
    if (await isOurThread(options, place)) return true
    return replyTo !== undefined && (await sessionOfMessage(state, place, replyTo)) !== undefined
  }

  /**
   * Answers a refused message: to a person in a place at most once in `refuseAgainMs`, also if several members receive what
   * they write, but always if it was too long. Never answers the same message twice.
   */
  async function answerRefusal(place: ChatPlace, text: InboundText, why: Refusal): Promise<void> {
    const id = `${place.channel}:${text.actor.id}`
    const key = `refused/${placeKey(place)}/${encodeURIComponent(text.actor.id)}`
    switch (why) {
      case 'too-long':
        return void (await answerOnce(place, text, texts.tooLong(text.text.length, router.maxTextLength)))
      case 'stranger':
        return await answerHourly(place, text, texts.stranger(id), key)
      case 'anonymous':
        return await answerHourly(place, text, texts.anonymous, key)
      case 'may-not':
        return await answerHourly(place, text, texts.mayNot('prompt'), key)
      default:
        return why satisfies never
    }
  }

  /**
   * Answers a refused message unless the key has a value, which it then has for `refuseAgainMs`. Until the answer was sent, the
   * value lasts only for `answeringMs`: if this process ends before, the person hears it the next time.
   */
  async function answerHourly(place: ChatPlace, text: InboundText, answerText: string, key: string): Promise<void> {
    const claim: Write = { type: 'put-if-absent', key, value: '', expiresInMs: answeringMs }
    if (!(await answerOnce(place, text, answerText, [claim]))) return
    const heard: Write = { type: 'put', key, value: '', expiresInMs: refuseAgainMs }
    await state.commitWithoutLease([heard], { survives: 'process' }).catch(onError)
  }

  /**
   * Answers a refused message, and marks it as seen, so that it is neither answered again nor run if the channel reads it again
   * after a restart. Resolves with false, and does nothing, if that or one of the other writes conflicts. If no call is allowed
   * any more, takes the writes back and rejects with a `NotTakenError`: the person would hear nothing otherwise, now and later.
   */
  async function answerOnce(
    place: ChatPlace,
    text: InboundText,
    answerText: string,
    more: readonly Write[] = [],
  ): Promise<boolean> {
    const writes = [seen.writeSeen(place, text.messageRef), ...more]
    if (!(await state.commitWithoutLease(writes))) return false
    if (await whenHeld().catch(() => undefined)) {
      await text.answer(answerText)
      return true
    }
    const keys = writes.flatMap((write) => ('key' in write ? [write.key] : []))
    await state.commitWithoutLease(keys.map((key) => ({ type: 'remove', key })))
    throw new NotTakenError()
  }

  /**
   * Has the owner of the chat carry out a press or the platform's Stop button at once. Answers strangers with a refusal. A restart
   * loses a press.
   */
  async function receivePress(
    channel: string,
    received: InboundPress,
    id: string,
    sinceReceivedMs: () => number,
  ): Promise<void> {
    const inbound = await withThread(channel, received)
    const place = { channel, chat: inbound.chat }
    await learnMove(place)
    const person = people.personOf(channel, inbound.actor)
    emitInbound(options, place, inbound, person ? 'handled' : 'refused', person ? undefined : 'stranger')
    if (!person)
      return inbound.type === 'stop'
        ? undefined
        : await inbound.answer(texts.stranger(`${channel}:${inbound.actor.id}`))
    const owner = ownerOf(place)
    if (owner) return await owner.press(channel, inbound, id, () => pressMs - sinceReceivedMs())
    const result = await forwarder.forward(place, inbound, id, sinceReceivedMs)
    if (result.type === 'not-taken') return await tell(channel, inbound, texts.notTaken)
    if (result.type === 'unknown') return await tell(channel, inbound, texts.stateFails)
    if (inbound.type === 'stop') return
    switch (result.type) {
      case 'answered':
        return await inbound.answer(result.text)
      case 'open':
        if (inbound.type === 'page') return await inbound.answer()
        return await inbound.open?.({ ...result.form, token: unsealToken(result.form.token, inbound.token) })
      case 'taken':
        // The owner shows what it did in the message with the button.
        return await inbound.answer()
      default:
        return result satisfies never
    }
  }

  /**
   * Returns the press with the thread of its message, which some platforms omit for old messages, so that its place is found.
   * A Stop, a press with a thread, and one whose thread is not remembered stay as they are.
   */
  async function withThread(channel: string, inbound: InboundPress): Promise<InboundPress> {
    const { chat } = inbound
    if (inbound.type !== 'press' || chat.thread !== undefined) return inbound
    const { thread } = (await sessionOfMessage(state, { channel, chat }, inbound.messageRef)) ?? {}
    return thread === undefined ? inbound : { ...inbound, chat: { ...chat, thread } }
  }
}

/**
 * Returns the key of the row that an album has once one of its messages was taken in a shared chat. Undefined without an album, and
 * in a private chat, where each message is addressed to the bot. An album has one author: a message of someone else is not of it.
 */
function albumRowOf(place: ChatPlace, { actor, albumID }: InboundText): string | undefined {
  if (albumID === undefined || place.chat.kind === 'private') return undefined
  return `album/${placeKey(place)}/${[actor.id, albumID].map(encodeURIComponent).join('/')}`
}

/** Emits the event of a message or press, with its verdict. */
export function emitInbound(
  { emit, clock }: { readonly emit: BridgeObserver; readonly clock: Pick<SteadyClock, 'now'> },
  place: ChatPlace,
  inbound:
    | Pick<InboundText, 'type' | 'actor' | 'messageRef'>
    | Pick<Extract<InboundPress, { type: 'press' }>, 'type' | 'actor' | 'messageRef'>
    | Pick<Extract<InboundPress, { type: 'stop' | 'page' }>, 'type' | 'actor'>,
  verdict: InboundEvent['verdict'],
  why?: string,
): void {
  const { type: kind, actor } = inbound
  const messageID = 'messageRef' in inbound ? inbound.messageRef.id : undefined
  emit({
    type: 'inbound',
    ...eventPlace(place, clock.now()),
    ...{ kind, actorID: actor.id, messageID, verdict, why },
  })
}

/** Returns the message as it is stored. */
function promptOf(place: ChatPlace, text: InboundText, receivedAt: number): QueuedPrompt {
  const { messageRef, replyTo, isForwarded, isCommand, actor, files = [], albumID, albumSpreadMs, albumGapMs } = text
  return {
    ...place,
    id: messageRef.id,
    actor,
    text: text.text,
    files: files.map((file) => ({ ...file, name: fileNameOf(file.name) })),
    isCommand,
    messageRef,
    receivedAt,
    ...(replyTo && { replyTo }),
    ...(isForwarded && { isForwarded }),
    ...(albumID !== undefined && {
      albumID,
      ...(albumSpreadMs !== undefined && { albumSpreadMs }),
      ...(albumGapMs !== undefined && { albumGapMs }),
    }),
  }
}
