import type { Actor, AnswerInbound, Inbound } from '@reply/sink'
import { NotTakenError } from '@reply/sink/channel'
import { createRecent } from '@reply/sink/internal'
import type { SavedGrants } from '../asks/saved-grants.ts'
import type { SeenMessages } from '../chats/seen-messages.ts'
import type { Commands } from '../commands/dispatch.ts'
import type { Busy, RouterConfig } from '../config/schema.ts'
import { isTakenOver, toError } from '../error.ts'
import { eventPlace } from '../events/emit.ts'
import type { InboundEvent } from '../events/event.ts'
import { rowName } from '../failed/failure-rows.ts'
import type { Person } from '../people/people.ts'
import { createRateLimit } from '../people/rate-limit.ts'
import { type ChatPlace, entryFor, placeKey } from '../place.ts'
import { type ActiveRun, cancelFor, mayActOn, maySteer } from '../runs/active-runs.ts'
import type { Backlog } from '../runs/backlog.ts'
import type { Runner } from '../runs/runner.ts'
import type { BridgeServices } from '../runs/services.ts'
import { albumMs, type QueuedPrompt } from '../state/queued-prompt.ts'
import { isTried } from '../state/tried.ts'
import { StoreError, type Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { waitAtMost } from '../timers.ts'
import { createAnswerAsk } from './answers.ts'
import { createInbox } from './inbox.ts'

/** Receives what people write and press. */
export interface Intake {
  /**
   * Resolves when the message is stored, or need not be stored. Rejects only with a `NotTakenError`: another process took
   * over, or the state can't be written.
   */
  receive(channel: string, inbound: Inbound): Promise<void>
  /** Starts to handle messages that an earlier process stored. */
  restore(): Promise<void>
  /** Resolves when no stored message is being handled. */
  idle(): Promise<void>
  /** As in `Inbox`. */
  undoTries(): readonly (readonly Write[])[]
}

type InboundText = Extract<Inbound, { type: 'text' }>

/** A refusal is sent to a person at most once in this time, in ms. */
const refuseAgainMs = 3_600_000
/**
 * How long a message may take until it is stored, in ms, if its platform redelivers messages. Shorter than any channel waits
 * before it acknowledges a message that is still being handled.
 */
const holdMs = 2000
/** For how many people the last refusal is remembered. */
const mostRefused = 1000

/** Receives what channels hand over. It keeps no message in memory that is not stored. */
export function createIntake(options: {
  readonly services: BridgeServices
  readonly runner: Runner
  readonly commands: Commands
  readonly grants: SavedGrants
  readonly backlog: Backlog
  readonly seen: SeenMessages
  /** As in `ChatMigrations`. */
  readonly withFirstID: (place: ChatPlace) => ChatPlace
}): Intake {
  const { services, runner, commands, grants, backlog, seen } = options
  const { state, routes, channels, people, runs, clock, onError } = services
  const { router } = services.config
  const { whenHeld, isHeld } = services.lease
  const rate = createRateLimit(router.messagesPerMinute, clock)
  const answerAsk = createAnswerAsk(services, runner, grants)
  const inbox = createInbox(services, handle, putAside)
  const refusedAt = createRecent<number>(mostRefused)
  /** Refusals in progress, by the same keys. */
  const refusals = new Map<string, Promise<void>>()
  return { receive, restore: inbox.restoreEntries, idle: inbox.idle, undoTries: inbox.undoTries }

  /**
   * Stores, ignores or refuses a message, or handles a press. Waits for the lease, at most `holdMs` if the channel delivers
   * messages again. Rejects only with a `NotTakenError`: the lease is not held by then, or is lost meanwhile, or a message that
   * is delivered again is not stored within `holdMs`. Reports other errors, and answers the person.
   */
  async function receive(channel: string, received: Inbound): Promise<void> {
    const { deliversOnce } = channels.connectionOf(channel)
    const until = clock.now() + holdMs
    // The platform may redeliver it, to this process or to another one.
    if (!isHeld()) await (deliversOnce ? whenHeld() : waitAtMost(whenHeld(), holdMs, clock)).catch(() => {})
    if (!isHeld()) throw new NotTakenError()
    const inbound = withLeaseCheck(received)
    services.failed.onPlaceActive({ channel, chat: inbound.chat })
    try {
      if (inbound.type !== 'text') await receivePress(channel, inbound)
      else if (deliversOnce) await receiveText(channel, inbound)
      else await receiveTextUntil(channel, inbound, until)
    } catch (error) {
      if (error instanceof NotTakenError) throw error
      onError(toError(error))
      if (isTakenOver(error) || (error instanceof StoreError && !isHeld())) throw new NotTakenError()
      if (inbound.type !== 'stop') await inbound.answer(texts.notTaken)
    }
  }

  /** Makes `answer` wait for the lease, and do nothing once the lease is lost. The platform's Stop has no `answer`. */
  function withLeaseCheck<One extends Inbound>(inbound: One): One {
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
  async function receiveTextUntil(channel: string, text: InboundText, until: number): Promise<void> {
    let isDone = false
    const received = receiveText(channel, text).then(() => {
      isDone = true
    })
    await waitAtMost(received, Math.max(0, until - clock.now()), clock)
    if (isDone) return
    received.catch((error: unknown) => onError(toError(error)))
    throw new NotTakenError()
  }

  /**
   * Ignores or refuses the message, or stores it in the inbox and starts to handle it, and emits an event with that verdict. A
   * message that was stored before is not handled again. One beyond the rate limit is refused.
   */
  async function receiveText(channel: string, text: InboundText): Promise<void> {
    const place = { channel, chat: text.chat }
    const person = people.personOf(channel, text.actor)
    const isOwnCommand = text.isCommand && commands.isOwnCommand(text.text)
    const isOurs = routes.isOurThread(place) || (await repliesToOurs(place, text))
    const verdict = judge(text, { person, isOurs, isOwnCommand, router })
    const report = (result: InboundEvent['verdict'], why?: string): void => emitInbound(place, text, result, why)
    if (verdict.type === 'ignored') return report('ignored')
    if (verdict.type === 'refused') {
      report('refused', verdict.why)
      return void (await answerRefusal(place, text, verdict.why))
    }
    const isOld = backlog.isOld(text.messageRef)
    if (!isOwnCommand && !isOld) channels.showTyping(place)
    // A stop must always work, and backlog arrives all at once, so neither counts for the rate limit.
    const isStop = text.isCommand && commands.isStopCommand(text.text)
    const isExempt = isOld || isStop
    if (!isExempt && !rate.countIfAllowed(`${channel}:${text.actor.id}`, text.albumID)) {
      report('refused', 'too-many')
      return void (await answerOnce(place, text, texts.tooMany))
    }
    const entry = { ...promptOf(place, text, clock.now()), ...(isOld && ({ isOld } as const)) }
    const isNew = await state.commit([seen.writeSeen(place, text.messageRef), inbox.enqueue(entry)])
    report(isNew ? 'taken' : 'repeated')
    if (isNew) inbox.handleInOrder(entry, text, isStop)
  }

  /** Emits the event of a message or press, with its verdict. */
  function emitInbound(place: ChatPlace, inbound: Inbound, verdict: InboundEvent['verdict'], why?: string): void {
    const { type: kind, actor } = inbound
    const messageID = inbound.type === 'stop' ? undefined : inbound.messageRef.id
    const ids = { kind, actorID: actor.id, messageID, verdict, why }
    services.emit({ type: 'inbound', ...eventPlace(place, clock.now()), ...ids })
  }

  /**
   * Answers a refused message, and marks it as seen, so that it is neither answered again nor run if the channel reads it again
   * after a restart. Resolves with false, and does nothing, for one that was seen before.
   */
  async function answerOnce(place: ChatPlace, text: InboundText, answerText: string): Promise<boolean> {
    const isNew = await state.commit([seen.writeSeen(place, text.messageRef)])
    if (isNew) await text.answer(answerText)
    return isNew
  }

  /**
   * Whether a message replies to a message of the bot whose session is remembered, and so is meant for the bot. Reads the store
   * only if that matters: false for a message that counts as addressed anyway, in a private chat or because the platform says
   * so.
   */
  async function repliesToOurs(
    place: ChatPlace,
    { chat, isMention, repliesToBot, replyTo }: InboundText,
  ): Promise<boolean> {
    if (chat.kind === 'private' || isMention || repliesToBot || !replyTo) return false
    return (await routes.sessionOfMessage(place, replyTo)) !== undefined
  }

  /**
   * Answers a refused message: to a person in a place at most once in `refuseAgainMs`, but always if it was too long. Never
   * answers the same message twice.
   */
  async function answerRefusal(
    place: ChatPlace,
    text: InboundText,
    why: 'stranger' | 'anonymous' | 'may-not' | 'too-long',
  ): Promise<void> {
    if (why === 'too-long')
      return void (await answerOnce(place, text, texts.tooLong(text.text.length, router.maxTextLength)))
    const id = `${place.channel}:${text.actor.id}`
    const key = `${placeKey(place)} ${id}`
    const now = clock.now()
    if ((refusedAt.get(key) ?? Number.NEGATIVE_INFINITY) > now - refuseAgainMs) return
    const answers = { stranger: texts.stranger(id), anonymous: texts.anonymous, 'may-not': texts.mayNot('prompt') }
    /** Only counts if the person heard it: otherwise they would write again and hear nothing. */
    const refuse = async (): Promise<void> => {
      if (await answerOnce(place, text, answers[why])) refusedAt.set(key, now)
    }
    // The platform may deliver the message again meanwhile, and must get it back each time if this fails.
    const refusing = refusals.get(key) ?? refuse().finally(() => refusals.delete(key))
    refusals.set(key, refusing)
    await refusing
  }

  /**
   * Handles a press or the platform's Stop button at once, without the inbox, so a restart loses it. A press on a button of the
   * bridge's own runs it, and any other may answer an ask. Answers strangers and presses beyond the rate limit with a refusal.
   * Ignores a Stop of a person with neither `prompt` nor `admin`.
   */
  async function receivePress(channel: string, received: Exclude<Inbound, InboundText>): Promise<void> {
    const inbound = await withThread(channel, received)
    const place = { channel, chat: inbound.chat }
    const person = people.personOf(channel, inbound.actor)
    emitInbound(place, inbound, person ? 'handled' : 'refused', person ? undefined : 'stranger')
    if (inbound.type === 'stop') {
      if (person?.may.has('prompt') || person?.may.has('admin')) await commands.handleStop(place, person, inbound.actor)
      return
    }
    if (!person) return await inbound.answer(texts.stranger(`${channel}:${inbound.actor.id}`))
    if (!rate.countIfAllowed(`${channel}:${inbound.actor.id}`)) return await inbound.answer(texts.tooMany)
    await runner.whenRestored(place)
    const personNow = people.personOf(channel, inbound.actor)
    if (!personNow) return await inbound.answer(texts.stranger(`${channel}:${inbound.actor.id}`))
    if (inbound.isForeign) return await commands.handlePress(place, personNow, inbound)
    await answerAsk(channel, inbound)
  }

  /**
   * Returns the press with the thread of its message, which some platforms omit for old messages, so that its place is found.
   * A Stop, a press with a thread, and one whose thread is not remembered stay as they are.
   */
  async function withThread(
    channel: string,
    inbound: Exclude<Inbound, InboundText>,
  ): Promise<Exclude<Inbound, InboundText>> {
    const { chat } = inbound
    if (inbound.type === 'stop' || chat.thread !== undefined) return inbound
    const { thread } = (await routes.sessionOfMessage({ channel, chat }, inbound.messageRef)) ?? {}
    return thread === undefined ? inbound : { ...inbound, chat: { ...chat, thread } }
  }

  /**
   * Runs an entry of the inbox as a command, as an answer to an ask, or as a prompt, or refuses it, and removes it from the
   * inbox. Refuses an entry whose author has no right to it by now, and a command from before the start except one that stops.
   * Gathers backlog, and messages behind it, instead of queuing them. After a restart, the inbox calls this again for the same
   * entry. One that was being sent as an answer is then refused unless it still answers an ask.
   */
  async function handle(entry: QueuedPrompt, text: InboundText): Promise<void> {
    const person = people.personOf(entry.channel, entry.actor)
    const removal = [inbox.dequeue(entry)]
    const remove = async (): Promise<void> => void (await state.withRetries(() => state.commit(removal)))
    /** Removes the entry, and answers its author. */
    const refuse = async (answerText: string): Promise<void> => {
      // The platform's own way to respond has expired, so the refusal is posted as a message.
      if (isTried(entry) || entry.isOld) return await runner.refusePrompt(entry, removal, answerText)
      await remove()
      await text.answer(answerText)
    }
    if (!person) return await refuse(texts.rightGone)
    const { isOld } = entry
    if (entry.isCommand && commands.isOwnCommand(entry.text)) {
      // An old stop still runs: stopping late is better than never, and a clock that is ahead makes all messages look old.
      if (!isOld || commands.isStopCommand(entry.text)) return await commands.runCommand(entry, person, removal)
      return await refuse(texts.oldCommand)
    }
    await runner.whenRestored(entry)
    const noteAnswer = async (): Promise<void> =>
      void (await state.withRetries(() => state.commit([inbox.replace({ ...entry, isAnswer: true })])))
    const isAnswer = !entry.isCommand && (await answerAsk(entry.channel, text, noteAnswer))
    if (isAnswer) return await remove()
    // An earlier process was sending it as an answer, and the ask is no longer pending, most likely because of that.
    if (entry.isAnswer) return await refuse(texts.maybeAnswered)
    if (!people.personOf(entry.channel, entry.actor)?.may.has('prompt')) return await refuse(texts.mayNot('prompt'))
    if (isOld || backlog.isGathering(entry)) return await backlog.addAndGather(entry, removal)
    await queueOrSteer(entry, removal)
  }

  /**
   * Puts an entry aside whose handling ended the process each time. Tells its author that it was not run, unless it is a
   * command, or was being sent as an answer: those may have taken effect.
   */
  async function putAside(entry: QueuedPrompt, row: { readonly key: string; readonly id: string }): Promise<void> {
    const isUnsure = entry.isAnswer || (entry.isCommand && commands.isOwnCommand(entry.text))
    const told = {
      execution: { id: await services.registry.newID(entry), prompt: entry, server: '' },
      text: isUnsure ? texts.poisonUnsure : texts.poisonMessage,
      removal: [inbox.dequeue(entry)],
    }
    const { tries = 1 } = entry
    await services.tries.putAside(rowName(row), [{ ...row, value: JSON.stringify(entry), tries }], told)
  }

  /**
   * Starts the prompt beside the running one, joins it to its queued album, or queues it, and then tells its position or
   * interrupts the running ones, as the place's `busy` says. Without the right to steer or interrupt them, it is queued.
   */
  async function queueOrSteer(entry: QueuedPrompt, removal: readonly Write[]): Promise<void> {
    const running = runs.active(entry)
    const isOwn = running.every((run) => mayActOn(run, entry, people))
    const busy = busyPolicyOf(entry)
    const isSteering = busy === 'steer' && running.every((run) => maySteer(run, entry, people))
    if (entry.albumID === undefined && isSteering && (await runner.canSteer(entry)))
      return await runner.beginNow(entry, removal)
    const isJoined = await runner.changeQueue(entry, async () => await joinAlbum(entry, removal))
    if (isJoined) return scheduleAlbum(entry, isSteering)
    // If a crash of the machine undoes this, the message is still in the inbox.
    await state.commit([...removal, runner.enqueue(entry)], { survives: 'process' })
    if (running.length > 0 && (busy === 'queue' || !isOwn || (busy === 'steer' && !isSteering)))
      await postQueuePosition(entry)
    if (busy === 'interrupt' && isOwn) interrupt(running, entry.actor)
    if (entry.albumID === undefined) runner.startQueue(entry)
    else scheduleAlbum(entry, isSteering)
  }

  /** Returns what a message does while the agent works there. `queue` if the config has no entry for the place. */
  function busyPolicyOf(place: ChatPlace): Busy {
    return typeof router.busy === 'string'
      ? router.busy
      : (entryFor(router.busy, place, options.withFirstID) ?? 'queue')
  }

  /** Starts an album when no further message of it arrived for `albumMs`. Retries while the store fails. */
  function scheduleAlbum(latest: QueuedPrompt, isSteering: boolean): void {
    const begin = async (): Promise<void> =>
      await runner.changeQueue(latest, async () => await beginAlbumIfComplete(latest, isSteering))
    clock.after(albumMs, () => void state.withRetries(begin).catch(onError))
  }

  /**
   * Starts the queued prompt of an album: beside the running one if it steers and still may, otherwise through the queue. Does
   * nothing if it started, or if a newer message of it arrived after `latest`.
   */
  async function beginAlbumIfComplete(latest: QueuedPrompt, isSteering: boolean): Promise<void> {
    // The clock may have been set back meanwhile, so a later time would not tell that a message is newer.
    const album = (await runner.queuedPrompts(latest)).find(
      ({ albumID, receivedAt }) => albumID === latest.albumID && receivedAt === latest.receivedAt,
    )
    if (!album) return
    const removal: Write = { type: 'dequeue', queue: runner.queueNameOf(album), id: runner.queueIDOf(album) }
    // It may have been edited meanwhile, and another run may have started.
    const isAllowed = isSteering && runs.active(album).every((run) => maySteer(run, album, people))
    if (isAllowed && (await runner.canSteer(album))) await runner.beginNow(album, [removal])
    else runner.startQueue(album)
  }

  /**
   * Stops the runs, unless one of them compacts the context. Does not wait until they have stopped, so that commands are not
   * delayed: the queue waits for that. Reports errors.
   */
  function interrupt(running: readonly ActiveRun[], actor: Actor): void {
    const isCompacting = running.some(({ stream }) => stream()?.reply?.compaction?.state === 'running')
    if (!isCompacting) for (const run of running) void cancelFor(run, actor).catch(onError)
  }

  /**
   * Posts the position of a queued prompt, from 1, silently. Posts nothing if the prompt has started meanwhile. Never rejects.
   */
  async function postQueuePosition(entry: QueuedPrompt): Promise<void> {
    const position =
      (await runner.queuedPrompts(entry)).findIndex((one) => runner.queueIDOf(one) === runner.queueIDOf(entry)) + 1
    if (position > 0)
      await channels.tryPost(entry, { text: texts.queued(position), replyTo: entry.messageRef, silent: true })
  }

  /**
   * Adds a message to the queued prompt of its album, because platforms deliver the files of an album as separate messages.
   * Resolves with false, and writes nothing, if it must become a prompt of its own: it has no album, or the queue has no prompt
   * of that album by the same author, or that prompt changed or started meanwhile.
   */
  async function joinAlbum(entry: QueuedPrompt, removal: readonly Write[]): Promise<boolean> {
    if (entry.albumID === undefined) return false
    const albumPrompt = (await runner.queuedPrompts(entry)).find(({ albumID }) => albumID === entry.albumID)
    // An album has one author. A message of someone else is a prompt of its own.
    if (!albumPrompt || albumPrompt.channel !== entry.channel || albumPrompt.actor.id !== entry.actor.id) return false
    const text = [albumPrompt.text, entry.text].filter((one) => one !== '').join('\n')
    const { receivedAt } = entry
    const grown = { ...albumPrompt, receivedAt, text, files: [...albumPrompt.files, ...entry.files] }
    return await state.commit([...removal, runner.replace(grown)])
  }
}

/** Returns the message as it is stored. */
function promptOf(place: ChatPlace, text: InboundText, receivedAt: number): QueuedPrompt {
  const { messageRef, replyTo, isForwarded, isCommand, actor, files = [], albumID } = text
  return {
    ...place,
    id: messageRef.id,
    actor,
    text: text.text,
    files,
    isCommand,
    messageRef,
    receivedAt,
    ...(replyTo && { replyTo }),
    ...(isForwarded && { isForwarded }),
    ...(albumID !== undefined && { albumID }),
  }
}

/** What becomes of a message. */
type Verdict =
  | { readonly type: 'ignored' }
  | { readonly type: 'refused'; readonly why: 'stranger' | 'anonymous' | 'may-not' | 'too-long' }
  | { readonly type: 'taken' }

/** What the verdict depends on, besides the message. */
export interface MessageFacts {
  /** Undefined for strangers. */
  readonly person: Person | undefined
  /** The chat is a thread that the bot works in, or the message replies to one of its messages. */
  readonly isOurs: boolean
  /** It is one of the bridge's own commands. */
  readonly isOwnCommand: boolean
  readonly router: Pick<RouterConfig, 'maxTextLength'>
}

/**
 * Returns whether a message is ignored, refused or taken. Ignores one that is not addressed to the bot, and an empty one
 * without a mention. Then refuses anonymous actors, strangers, and people without any right. Then ignores an empty mention, and
 * refuses a text that is too long. Reads no store, so that the person sees immediately that the message was taken.
 */
export function judge(text: InboundText, { person, isOurs, isOwnCommand, router }: MessageFacts): Verdict {
  const isEmpty = text.text.trim() === '' && (text.files ?? []).length === 0
  if (!isAddressed(text, { isOurs, isOwnCommand }) || (isEmpty && !text.isMention)) return { type: 'ignored' }
  if (text.actor.isAnonymous) return { type: 'refused', why: 'anonymous' }
  if (!person) return { type: 'refused', why: 'stranger' }
  if (person.may.size === 0) return { type: 'refused', why: 'may-not' }
  if (isEmpty) return { type: 'ignored' }
  return text.text.length > router.maxTextLength ? { type: 'refused', why: 'too-long' } : { type: 'taken' }
}

/**
 * Whether a message is meant for the bot: each in a private chat, otherwise a mention, a reply to it, a message in its thread,
 * or one of the bridge's commands. In a shared chat, people also write to each other.
 */
function isAddressed(
  { chat, isMention, repliesToBot }: InboundText,
  { isOurs, isOwnCommand }: Pick<MessageFacts, 'isOurs' | 'isOwnCommand'>,
): boolean {
  return chat.kind === 'private' || isMention === true || repliesToBot === true || isOurs || isOwnCommand
}
