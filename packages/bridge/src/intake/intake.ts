import type { Actor, AnswerInbound, Inbound } from '@reply/sink'
import { NotTakenError } from '@reply/sink/channel'
import type { SavedGrants } from '../asks/saved-grants.ts'
import type { SeenMessages } from '../chats/seen-messages.ts'
import type { Commands } from '../commands/commands.ts'
import type { Busy, RouterConfig } from '../config/schema.ts'
import { isTakenOver } from '../error.ts'
import { eventPlace } from '../events/emit.ts'
import type { InboundEvent } from '../events/event.ts'
import type { Person } from '../people/people.ts'
import { createRate } from '../people/rate-limit.ts'
import { type ChatPlace, entryFor, placeKey } from '../place.ts'
import { type ActiveRun, cancelFor, mayActOn, maySteer } from '../runs/active-runs.ts'
import type { Backlog } from '../runs/backlog.ts'
import type { BridgeContext } from '../runs/context.ts'
import type { Runner } from '../runs/runner.ts'
import { albumMs, type QueuedPrompt } from '../state/queued-prompt.ts'
import { StoreError, type Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { atMost } from '../timers.ts'
import { createAnswerer } from './answers.ts'
import { createInbox } from './inbox.ts'

/** Receives what people write and press. */
export interface Intake {
  /**
   * Resolves when the message is stored, or need not be stored. Rejects only with a `NotTakenError`: another process took
   * over, or the state can't be written.
   */
  receive(channel: string, inbound: Inbound): Promise<void>
  /** Handles messages that an earlier process stored. */
  restore(): Promise<void>
  /** Resolves when no stored message is being handled. */
  idle(): Promise<void>
}

export interface IntakeOptions {
  readonly context: BridgeContext
  readonly runner: Runner
  readonly commands: Commands
  readonly grants: SavedGrants
  readonly backlog: Backlog
  readonly seen: SeenMessages
  /** As in `ChatMigrations`. */
  readonly former: (place: ChatPlace) => ChatPlace
}

type Text = Extract<Inbound, { type: 'text' }>

/** A refusal is sent to a person at most once in this time, in ms. */
const refuseAgainMs = 3_600_000
/** How long a message waits for the state to be writable, in ms, if its platform redelivers messages. */
const holdMs = 3000
/** For how many people the last refusal is remembered. */
const mostRefused = 1000

export function createIntake(options: IntakeOptions): Intake {
  const { context, runner, commands, grants, backlog, seen } = options
  const { state, routes, channels, people, runs, clock, onError } = context
  const { router } = context.config
  const { hold, isHeld } = context.lease
  const rate = createRate({ perMinute: router.messagesPerMinute, clock })
  const answer = createAnswerer(context, runner, grants)
  const inbox = createInbox({ context, handle })
  const refusedAt = new Map<string, number>()
  return { receive, restore: inbox.restore, idle: inbox.idle }

  async function receive(channel: string, given: Inbound): Promise<void> {
    // The platform may redeliver it, to this process or to another one.
    if (!isHeld()) await (channels.of(channel).deliversOnce ? hold() : atMost(hold(), holdMs, clock)).catch(() => {})
    if (!isHeld()) throw new NotTakenError()
    const inbound = withLeaseCheck(given)
    context.failed.placeAnswered({ channel, chat: inbound.chat })
    try {
      if (inbound.type === 'text') await receiveText(channel, inbound)
      else await receivePress(channel, inbound)
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
      if (isTakenOver(error) || (error instanceof StoreError && !isHeld())) throw new NotTakenError()
      if (inbound.type !== 'stop') await inbound.answer(texts.notTaken)
    }
  }

  /** Answers only while this process holds the lease. */
  function withLeaseCheck<One extends Inbound>(inbound: One): One {
    if (inbound.type === 'stop') return inbound
    const answer: AnswerInbound = async (text) => {
      const signal = await hold().catch(() => undefined)
      if (signal) await inbound.answer(text)
    }
    return { ...inbound, answer }
  }

  async function receiveText(channel: string, text: Text): Promise<void> {
    const place = { channel, chat: text.chat }
    const person = people.find(channel, text.actor)
    const isOwnCommand = text.isCommand && commands.isOwn(text.text)
    const isOurs = routes.isOurs(place) || (await repliesToOurs(place, text))
    const verdict = judge(text, { person, isOurs, isOwnCommand, router })
    const report = (result: InboundEvent['verdict'], why?: string): void => emitInbound(place, text, result, why)
    if (verdict.type === 'ignored') return report('ignored')
    if (verdict.type === 'refused') {
      report('refused', verdict.why)
      return void (await refuse(place, text, verdict.why))
    }
    const isOld = backlog.isOld(text.messageRef)
    if (!isOwnCommand && !isOld) channels.typing(place)
    // A stop must always work, and backlog arrives all at once, so neither counts for the rate limit.
    const isStop = text.isCommand && commands.isStop(text.text)
    const isFree = isOld || isStop
    if (!isFree && !rate.take(`${channel}:${text.actor.id}`, text.albumID)) {
      report('refused', 'too-many')
      return await answerOnce(place, text, texts.tooMany)
    }
    const entry = { ...promptOf(place, text, clock.now()), ...(isOld && ({ isOld } as const)) }
    const isNew = await state.commit([seen.take(place, text.messageRef), inbox.enqueue(entry)])
    report(isNew ? 'taken' : 'repeated')
    if (isNew) inbox.kick(entry, text, isStop)
  }

  function emitInbound(place: ChatPlace, inbound: Inbound, verdict: InboundEvent['verdict'], why?: string): void {
    const { type: kind, actor } = inbound
    const messageID = inbound.type === 'stop' ? undefined : inbound.messageRef.id
    const ids = { kind, actorID: actor.id, messageID, verdict, why }
    context.emit({ type: 'inbound', ...eventPlace(place, clock.now()), ...ids })
  }

  /** Marks a refused message as seen, so that it is not run if the channel reads it again after a restart. */
  async function answerOnce(place: ChatPlace, text: Text, answerText: string): Promise<void> {
    if (await state.commit([seen.take(place, text.messageRef)])) await text.answer(answerText)
  }

  /** Whether a message replies to one of the bot. Reads the store only if the platform does not tell. */
  async function repliesToOurs(place: ChatPlace, { chat, isMention, repliesToBot, replyTo }: Text): Promise<boolean> {
    if (chat.kind === 'private' || isMention || repliesToBot || !replyTo) return false
    return (await routes.sessionOf(place, replyTo)) !== undefined
  }

  async function refuse(
    place: ChatPlace,
    text: Text,
    why: 'stranger' | 'anonymous' | 'may-not' | 'too-long',
  ): Promise<void> {
    if (why === 'too-long') return await answerOnce(place, text, texts.tooLong(text.text.length, router.maxTextLength))
    const id = `${place.channel}:${text.actor.id}`
    const key = `${placeKey(place)} ${id}`
    const now = clock.now()
    if ((refusedAt.get(key) ?? Number.NEGATIVE_INFINITY) > now - refuseAgainMs) return
    refusedAt.delete(key)
    refusedAt.set(key, now)
    const [oldest] = refusedAt.keys()
    if (refusedAt.size > mostRefused && oldest !== undefined) refusedAt.delete(oldest)
    const answers = { stranger: texts.stranger(id), anonymous: texts.anonymous, 'may-not': texts.mayNot('prompt') }
    await answerOnce(place, text, answers[why])
  }

  async function receivePress(channel: string, received: Exclude<Inbound, Text>): Promise<void> {
    const inbound = await inThread(channel, received)
    const place = { channel, chat: inbound.chat }
    const person = people.find(channel, inbound.actor)
    emitInbound(place, inbound, person ? 'handled' : 'refused', person ? undefined : 'stranger')
    if (inbound.type === 'stop') {
      if (person?.may.has('prompt') || person?.may.has('admin')) await commands.stop(place, person, inbound.actor)
      return
    }
    if (!person) return await inbound.answer(texts.stranger(`${channel}:${inbound.actor.id}`))
    if (!rate.take(`${channel}:${inbound.actor.id}`)) return await inbound.answer(texts.tooMany)
    await runner.restored(place)
    const now = people.find(channel, inbound.actor)
    if (!now) return await inbound.answer(texts.stranger(`${channel}:${inbound.actor.id}`))
    if (inbound.isForeign) return await commands.press({ place, person: now, press: inbound })
    await answer(channel, inbound)
  }

  /** Adds the thread of an old message, which some platforms omit. */
  async function inThread(channel: string, inbound: Exclude<Inbound, Text>): Promise<Exclude<Inbound, Text>> {
    const { chat } = inbound
    if (inbound.type === 'stop' || chat.thread !== undefined) return inbound
    const { thread } = (await routes.sessionOf({ channel, chat }, inbound.messageRef)) ?? {}
    return thread === undefined ? inbound : { ...inbound, chat: { ...chat, thread } }
  }

  /** Handles an entry of the inbox. After a restart, the inbox calls it again for the same entry. */
  async function handle(entry: QueuedPrompt, text: Text): Promise<void> {
    const person = people.find(entry.channel, entry.actor)
    const taken = [inbox.dequeue(entry)]
    const take = async (): Promise<void> => void (await state.persist(() => state.commit(taken)))
    const refuse = async (answerText: string): Promise<void> => {
      // The platform's own way to respond has expired, so the refusal is posted as a message.
      if (entry.isTried || entry.isOld) return await runner.refuse(entry, taken, answerText)
      await take()
      await text.answer(answerText)
    }
    if (!person) return await refuse(texts.rightGone)
    const { isOld } = entry
    if (entry.isCommand && commands.isOwn(entry.text)) {
      // An old stop still runs: stopping late is better than never, and a clock that is ahead makes all messages look old.
      if (!isOld || commands.isStop(entry.text)) return await commands.run({ entry, person, taken })
      return await refuse(texts.oldCommand)
    }
    await runner.restored(entry)
    const noteAnswer = async (): Promise<void> =>
      void (await state.persist(() => state.commit([inbox.replace({ ...entry, isAnswer: true })])))
    const isAnswer = !entry.isCommand && (await answer(entry.channel, text, noteAnswer))
    if (isAnswer) return await take()
    // An earlier process was sending it as an answer, and the ask is no longer pending, most likely because of that.
    if (entry.isAnswer) return await refuse(texts.maybeAnswered)
    if (!people.find(entry.channel, entry.actor)?.may.has('prompt')) return await refuse(texts.mayNot('prompt'))
    if (isOld || backlog.isGathering(entry)) return await backlog.add(entry, taken)
    await prompt(entry, taken)
  }

  async function prompt(entry: QueuedPrompt, taken: readonly Write[]): Promise<void> {
    const running = runs.active(entry)
    const isOwn = running.every((run) => mayActOn(run, entry, people))
    const busy = busyIn(entry)
    const isSteering = busy === 'steer' && running.every((run) => maySteer(run, entry, people))
    if (entry.albumID === undefined && isSteering && (await runner.canSteer(entry)))
      return await runner.beginNow(entry, taken)
    if (await joinsAlbum(entry, taken)) return gather(entry, isSteering)
    // If a crash of the machine undoes this, the message is still in the inbox.
    await state.commit([...taken, runner.enqueue(entry)], { survives: 'process' })
    if (running.length > 0 && (busy === 'queue' || !isOwn || (busy === 'steer' && !isSteering)))
      await postQueuePosition(entry)
    if (busy === 'interrupt' && isOwn) interrupt(running, entry.actor)
    if (entry.albumID === undefined) runner.kick(entry)
    else gather(entry, isSteering)
  }

  function busyIn(place: ChatPlace): Busy {
    return typeof router.busy === 'string' ? router.busy : (entryFor(router.busy, place, options.former) ?? 'queue')
  }

  /** Starts an album when no further message of it arrived for a while. */
  function gather(latest: QueuedPrompt, isSteering: boolean): void {
    clock.after(albumMs, () => void state.persist(() => beginAlbum(latest, isSteering)).catch(onError))
  }

  async function beginAlbum(latest: QueuedPrompt, isSteering: boolean): Promise<void> {
    const album = (await runner.waiting(latest)).find(({ albumID }) => albumID === latest.albumID)
    if (!album || album.receivedAt > latest.receivedAt) return
    const taken: Write = { type: 'dequeue', queue: runner.queueOf(album), id: runner.idOf(album) }
    // It may have been edited meanwhile, and another run may have started.
    const isAllowed = isSteering && runs.active(album).every((run) => maySteer(run, album, people))
    if (isAllowed && (await runner.canSteer(album))) await runner.beginNow(album, [taken])
    else runner.kick(album)
  }

  /** Does not wait until the run has stopped, so that commands are not delayed. The queue waits for it. */
  function interrupt(running: readonly ActiveRun[], actor: Actor): void {
    const isCompacting = running.some(({ stream }) => stream()?.reply?.compaction?.state === 'running')
    if (!isCompacting) for (const run of running) void cancelFor(run, actor).catch(onError)
  }

  async function postQueuePosition(entry: QueuedPrompt): Promise<void> {
    const place = (await runner.waiting(entry)).findIndex((one) => runner.idOf(one) === runner.idOf(entry)) + 1
    if (place > 0) await channels.notify(entry, { text: texts.queued(place), replyTo: entry.messageRef, silent: true })
  }

  /** Platforms deliver the files of an album as separate messages. This joins them to one prompt. */
  async function joinsAlbum(entry: QueuedPrompt, taken: readonly Write[]): Promise<boolean> {
    if (entry.albumID === undefined) return false
    const first = (await runner.waiting(entry)).find(({ albumID }) => albumID === entry.albumID)
    // An album has one author. A message of someone else is a prompt of its own.
    if (!first || first.channel !== entry.channel || first.actor.id !== entry.actor.id) return false
    const text = [first.text, entry.text].filter((one) => one !== '').join('\n')
    const { receivedAt } = entry
    const value = JSON.stringify({ ...first, receivedAt, text, files: [...first.files, ...entry.files] })
    return await state.commit([
      ...taken,
      { type: 'replace', queue: runner.queueOf(entry), id: runner.idOf(first), value },
    ])
  }
}

function promptOf(place: ChatPlace, text: Text, receivedAt: number): QueuedPrompt {
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

/** Whether a message is ignored, refused or taken. */
type Verdict =
  | { readonly type: 'ignored' }
  | { readonly type: 'refused'; readonly why: 'stranger' | 'anonymous' | 'may-not' | 'too-long' }
  | { readonly type: 'taken' }

/** Facts that the verdict depends on, besides the message. */
export interface Facts {
  /** Undefined for strangers. */
  readonly person: Person | undefined
  /** The chat is a thread that the bot works in, or the message replies to one of its messages. */
  readonly isOurs: boolean
  /** It is one of the bridge's own commands. */
  readonly isOwnCommand: boolean
  readonly router: Pick<RouterConfig, 'maxTextLength'>
}

/** Judges a message. Reads no store, so that the person sees immediately that the message was taken. */
export function judge(text: Text, { person, isOurs, isOwnCommand, router }: Facts): Verdict {
  const isEmpty = text.text.trim() === '' && (text.files ?? []).length === 0
  if (!isAddressed(text, { isOurs, isOwnCommand }) || (isEmpty && !text.isMention)) return { type: 'ignored' }
  if (text.actor.isAnonymous) return { type: 'refused', why: 'anonymous' }
  if (!person) return { type: 'refused', why: 'stranger' }
  if (person.may.size === 0) return { type: 'refused', why: 'may-not' }
  if (isEmpty) return { type: 'ignored' }
  return text.text.length > router.maxTextLength ? { type: 'refused', why: 'too-long' } : { type: 'taken' }
}

/** In a shared chat, people also write to each other. */
function isAddressed(
  { chat, isMention, repliesToBot }: Text,
  { isOurs, isOwnCommand }: Pick<Facts, 'isOurs' | 'isOwnCommand'>,
): boolean {
  return chat.kind === 'private' || isMention === true || repliesToBot === true || isOurs || isOwnCommand
}
