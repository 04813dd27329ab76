import { readPermissionAnswer } from '@reply/core'
import { stopwatch } from '@reply/core/internal'
import type { Actor, Inbound } from '@reply/sink'
import { createRecent } from '@reply/sink/internal'
import type { SavedGrants } from '../asks/saved-grants.ts'
import { receivedAgoMs } from '../chats/seen-messages.ts'
import type { Commands } from '../commands/dispatch.ts'
import { LatePressError, type RequireDue } from '../commands/late-press.ts'
import { editByReply } from '../commands/queue-steer.ts'
import type { Busy } from '../config/schema.ts'
import { isTakenOver, toError } from '../error.ts'
import { rowName } from '../failed/failure-rows.ts'
import type { RateLimit } from '../people/rate-limit.ts'
import { type ChatPlace, entryFor, placeKey } from '../place.ts'
import { type ActiveRun, cancelFor, mayActOn, maySteer } from '../runs/active-runs.ts'
import type { Backlog } from '../runs/backlog.ts'
import type { Runner } from '../runs/runner.ts'
import type { BridgeServices } from '../runs/services.ts'
import { isUnprepared } from '../runs/spoken-prompts.ts'
import type { PageAction } from '../state/page-action.ts'
import { albumWaitMs, isLatePart, isOfAlbum, type QueuedPrompt, withAlbumPart } from '../state/queued-prompt.ts'
import { isTried } from '../state/tried.ts'
import { StoreError, type Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { isAudio } from '../voice/audio.ts'
import { createAnswerClients } from './answer-clients.ts'
import { createAnswerAsk } from './answers.ts'
import { createInbox, enqueueInbox, type HandleEntry } from './inbox.ts'
import { createActOnPage } from './page-actions.ts'
import { createPressTaker } from './press-taker.ts'
import { pressedAgoMs, writePressed } from './pressed.ts'
import { emitInbound } from './receiver.ts'

type InboundText = Extract<Inbound, { type: 'text' }>
/** A press of a button or of the platform's own Stop button, or what a person does on the page of a run. */
export type InboundPress = Exclude<Inbound, InboundText> | PageAction

/** Handles what people write and press in the chats that this process owns. Any member may have received it. */
export interface Intake {
  /**
   * Stores a message that this process received, commits `more` with it, and begins to handle it. Resolves with `repeated` if one of
   * these writes conflicts, and with `too-many` if the message is beyond the rate limit and was not stored.
   */
  take(entry: QueuedPrompt, text: InboundText, more: readonly Write[]): Promise<'taken' | 'repeated' | 'too-many'>
  /** Call it for each action of a person in the place that this process received, also for one that is ignored. */
  noteActive(place: ChatPlace): void
  /**
   * Carries out a press or a Stop, once for each id. `leftMs` is called right before each effect: once it is negative, the press is
   * refused, and the person is told so.
   */
  press(channel: string, inbound: InboundPress, id: string, leftMs: () => number): Promise<void>
  /**
   * Begins to handle what is stored and new: messages, and presses that other members received. Call it at the start, on each
   * hint, and every 5 s, because hints may be lost. `key`: of the place whose messages to look at. Does not wait until they are
   * handled. Never rejects.
   */
  drain(what?: 'messages' | 'presses', key?: string): Promise<void>
  /** Begins to handle the messages that earlier processes and other members stored. Rejects like `State.queue`. */
  restore(): Promise<void>
  /** As in `Inbox`. */
  oldestAt(): number | undefined
  /** Resolves when no stored message and no press of another member is being handled. */
  idle(): Promise<void>
  /** Whether `undoTries` was called. Another member handles what is received from then on. */
  isEnded(): boolean
  /** As in `Inbox`. Ends the intake. */
  undoTries(): readonly (readonly Write[])[]
}

/**
 * How long after it was received a typed text may answer an ask, in ms: longer than the chats of a bridge that died wait for the
 * next one.
 */
const answerMs = 15_000
/** How many presses are remembered, so that one that is delivered again is not carried out again by this process. */
const mostPresses = 1000

/** Creates the intake of the chats that this process owns by one lease. It keeps no message in memory that is not stored. */
export function createIntake(options: {
  readonly services: BridgeServices
  readonly runner: Runner
  readonly commands: Commands
  readonly grants: SavedGrants
  readonly backlog: Backlog
  /** One for all chats that this process owns. */
  readonly rate: RateLimit
  /** As in `ChatMigrations`. */
  readonly withFirstID: (place: ChatPlace) => ChatPlace
}): Intake {
  const { services, runner, commands, grants, backlog, rate } = options
  const { state, channels, people, runs, failed, lease, clock, onError } = services
  const { router } = services.config
  const clientFor = createAnswerClients(services, runner, grants)
  const answerAsk = createAnswerAsk(services, clientFor)
  const actOnPage = createActOnPage(services, clientFor)
  const inbox = createInbox({ services, handle, admit, onForwarded, isUrgent, putAside })
  const presses = createPressTaker({ state, lease, clock, onError, handle: press, whenRestored: runner.whenRestored })
  /** What people are told of a press that is delivered again. */
  const pressed = createRecent<string | undefined>(mostPresses)
  return {
    take,
    noteActive: failed.onPlaceActive,
    press,
    drain,
    restore: async () => await inbox.drain(),
    oldestAt: inbox.oldestAt,
    idle: async () => void (await Promise.all([inbox.idle(), presses.idle()])),
    isEnded: inbox.isEnded,
    undoTries: inbox.undoTries,
  }

  /** Reads what is stored. Reports errors, except that the store was closed meanwhile, because the bridge has stopped. */
  async function drain(...[what, key]: Parameters<Intake['drain']>): Promise<void> {
    const reads = [
      ...(what === 'presses' ? [] : [inbox.drain(key)]),
      ...(what === 'messages' || inbox.isEnded() ? [] : [presses.takeStored()]),
    ]
    for (const read of await Promise.allSettled(reads)) {
      if (read.status === 'fulfilled') continue
      const isClosed = read.reason instanceof StoreError && read.reason.type === 'closed'
      if (!isClosed) onError(toError(read.reason))
    }
  }

  /** Shows the person that the message was taken, stores it, and begins to handle it with its own `answer`. */
  async function take(...[entry, text, more]: Parameters<Intake['take']>): ReturnType<Intake['take']> {
    showTyping(entry)
    if (!countIfAllowed(entry)) return 'too-many'
    const forget = inbox.expect(entry, text)
    let isNew = false
    try {
      isNew = await state.commit([...more, enqueueInbox(entry)])
    } finally {
      if (!isNew) forget()
    }
    if (!isNew) return 'repeated'
    if (inbox.isEnded()) await leaveToNext(entry)
    void inbox.drain(placeKey(entry)).catch(onError)
    return 'taken'
  }

  /** Notes that the next owner is the first to begin a message that was stored too late for this one. */
  async function leaveToNext(entry: QueuedPrompt): Promise<void> {
    await state.commit([inbox.leave(entry)]).catch((error: unknown) => isTakenOver(error) || onError(toError(error)))
  }

  /** Does what this process does at once for a message that it received itself. */
  function onForwarded(entry: QueuedPrompt): void {
    failed.onPlaceActive(entry)
    showTyping(entry)
  }

  /** Shows that the bot is typing, if a run may follow. */
  function showTyping(entry: QueuedPrompt): void {
    if (!isOwnCommand(entry) && !entry.isOld) channels.showTyping(entry)
  }

  /** Whether the entry is one of the bridge's own commands. */
  function isOwnCommand({ isCommand, text }: QueuedPrompt): boolean {
    return isCommand && commands.isOwnCommand(text)
  }

  /** Whether the entry is a command that stops runs. */
  function isUrgent({ isCommand, text }: QueuedPrompt): boolean {
    return isCommand && commands.isStopCommand(text)
  }

  /** Whether the message is within the rate limit, and counts it then. */
  function countIfAllowed(entry: QueuedPrompt): boolean {
    // A stop must always work, and backlog arrives all at once, so neither counts for the rate limit.
    const isExempt = entry.isOld || isUrgent(entry)
    const { channel, actor, id, albumID } = entry
    return isExempt || rate.countIfAllowed(`${channel}:${actor.id}`, { id: `${placeKey(entry)}/${id}`, albumID })
  }

  /** Returns how an entry is handled that another member received, which could not count it for the rate limit. */
  function admit(entry: QueuedPrompt): HandleEntry {
    if (countIfAllowed(entry)) return handle
    emitInbound(services, entry, { ...entry, type: 'text' }, 'refused', 'too-many')
    return async (same, text) => await handle(same, text, true)
  }

  /**
   * Carries out a press or the platform's Stop button, without the inbox. A press on a button of the bridge's own runs it, and
   * any other may answer an ask. Only answers a press that was carried out or refused before.
   */
  async function press(...[channel, inbound, id, leftMs]: Parameters<Intake['press']>): Promise<void> {
    const key = `${channel}/${id}`
    if (pressed.has(key)) return inbound.type === 'stop' ? undefined : await inbound.answer(pressed.get(key))
    pressed.set(key, undefined)
    const requireDue = (): number => {
      const left = leftMs()
      if (left >= 0) return left
      pressed.set(key, texts.notTaken)
      throw new LatePressError()
    }
    try {
      await carryOut(channel, inbound, id, requireDue)
    } catch (error) {
      if (error instanceof LatePressError) return await refuseLate(channel, inbound)
      // The platform may deliver it again, if it was not taken.
      pressed.delete(key)
      throw error
    }
  }

  /** Tells the person that a press came too late. The platform's Stop can only be answered in the chat. */
  async function refuseLate(channel: string, inbound: InboundPress): Promise<void> {
    if (inbound.type !== 'stop') return await inbound.answer(texts.notTaken)
    await channels.tryPost({ channel, chat: inbound.chat }, { text: texts.notTaken })
  }

  /**
   * Refuses presses beyond the rate limit, and people who are strangers by now. Ignores a Stop of a person with neither `prompt`
   * nor `admin`. Rejects with a `LatePressError` if the press is late before it has had an effect.
   */
  async function carryOut(channel: string, inbound: InboundPress, id: string, requireDue: RequireDue): Promise<void> {
    const once = writePressed(channel, id)
    const place = { channel, chat: inbound.chat }
    failed.onPlaceActive(place)
    const person = people.personOf(channel, inbound.actor)
    if (inbound.type === 'stop') {
      const mayStop = person?.may.has('prompt') || person?.may.has('admin')
      if (!person || !mayStop) return
      const isFirst = await state.commit([once], { requireDue })
      const firstAgoMs = isFirst ? undefined : await pressedAgoMs(state, channel, id, clock)
      await commands.handleStop(place, person, inbound.actor, requireDue, firstAgoMs)
      return
    }
    if (!rate.countIfAllowed(`${channel}:${inbound.actor.id}`, { id })) return await inbound.answer(texts.tooMany)
    await runner.whenRestored(place)
    const personNow = people.personOf(channel, inbound.actor)
    if (!personNow) return await inbound.answer(texts.stranger(`${channel}:${inbound.actor.id}`))
    if (inbound.type === 'page') return await inbound.answer(await actOnPage(channel, inbound, requireDue))
    if (inbound.isForeign) return await commands.handlePress(place, personNow, inbound, requireDue, once)
    await answerAsk(channel, inbound, { requireDue })
  }

  /**
   * Runs an entry of the inbox as a command, as an answer to an ask, as the new text of a queued prompt, or as a prompt, or
   * refuses it, and removes it from the inbox. A voice note only becomes a prompt, and is refused without a transcriber. Refuses an entry whose author has no right to it by now, and a command from before the start except one that stops.
   * Gathers backlog, and messages behind it, instead of queuing them. After a restart, the inbox calls this again for the same
   * entry. One that was being sent as an answer is then refused unless it still answers an ask. `isTooMany`: it is beyond the
   * rate limit.
   */
  async function handle(entry: QueuedPrompt, text: InboundText, isTooMany = false): Promise<void> {
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
    if (isTooMany) return await refuse(texts.tooMany)
    const { isOld } = entry
    if (isOwnCommand(entry)) {
      // An old stop still runs: stopping late is better than never, and a clock that is ahead makes all messages look old.
      if (!isOld || isUrgent(entry)) return await commands.runCommand(entry, person, removal)
      return await refuse(texts.oldCommand)
    }
    await runner.whenRestored(entry)
    const noteAnswer = async (): Promise<void> =>
      void (await state.withRetries(() => state.commit([inbox.replace({ ...entry, isAnswer: true })])))
    const edited = person.may.has('prompt')
      ? await editByReply({ state, runner, people }, entry, person, removal)
      : undefined
    if (edited !== undefined) {
      await remove()
      return await text.answer(edited)
    }
    const hasNote = entry.files.some(isAudio)
    // Anyone may be heard in a voice note, and a transcriber may mishear, so it answers nothing. Nor does its caption.
    const answered = entry.isCommand || hasNote ? 'no' : await answerByText(entry, text, noteAnswer)
    if (answered === 'yes') return await remove()
    // An earlier process was sending it as an answer, and the ask is no longer pending, most likely because of that.
    if (entry.isAnswer) return await refuse(texts.maybeAnswered)
    if (answered === 'late') return await refuse(texts.lateAnswer)
    if (!people.personOf(entry.channel, entry.actor)?.may.has('prompt')) return await refuse(texts.mayNot('prompt'))
    if (hasNote && !services.transcriber()) return await refuse(texts.noTranscriber)
    if (hasNote && entry.isCommand) return await refuse(texts.noteWithCommand)
    if (isOld || backlog.isGathering(entry)) return await backlog.addAndGather(entry, removal)
    await queueOrSteer(entry, removal)
  }

  /**
   * Sends a text as the answer to an ask, if it is one. `late`: it would be one and was received more than `answerMs` ago. So is a
   * late text that says only "yes", "no" or a number, if a run of its chat went on when it was received: its ask may be closed by now.
   */
  async function answerByText(
    entry: QueuedPrompt,
    text: InboundText,
    beforeAnswer: () => Promise<void>,
  ): Promise<'yes' | 'no' | 'late'> {
    const isBare = isBareAnswer(entry.text)
    // The time costs a read of the state.
    if (!isBare && runs.followed(entry).length === 0) return 'no'
    const agoMs = await receivedAgoMs(state, entry, entry.messageRef)
    const sinceMs = stopwatch(clock)
    const requireDue = (): number => {
      const leftMs = answerMs - agoMs - sinceMs()
      if (leftMs < 0) throw new LatePressError()
      return leftMs
    }
    try {
      if (await answerAsk(entry.channel, text, { beforeAnswer, requireDue })) return 'yes'
      if (!isBare || agoMs <= answerMs) return 'no'
      const endAgesMs = await services.registry.endAgesMs(entry)
      const receivedMs = agoMs + sinceMs()
      const hasEndedSince = endAgesMs.some((ageMs) => ageMs < receivedMs)
      return hasEndedSince || runs.followed(entry).some((run) => run.ageMs() >= receivedMs) ? 'late' : 'no'
    } catch (error) {
      if (error instanceof LatePressError) return 'late'
      throw error
    }
  }

  /**
   * Puts an entry aside whose handling ended the process each time. Tells its author that it was not run, unless it is a
   * command, or was being sent as an answer: those may have taken effect.
   */
  async function putAside(entry: QueuedPrompt, row: { readonly key: string; readonly id: string }): Promise<void> {
    const isUnsure = entry.isAnswer || isOwnCommand(entry)
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
    // The agent is about to work on its album without it.
    const busy = running.some((run) => isLatePart(run.execution().prompt, entry)) ? 'steer' : busyPolicyOf(entry)
    const isSteering = busy === 'steer' && running.every((run) => maySteer(run, entry, people))
    const hasNote = entry.files.some(isAudio)
    if (entry.albumID === undefined && !hasNote && isSteering && (await runner.canSteer(entry)))
      return await runner.beginNow(entry, removal)
    const album = await runner.changeQueue(entry, async () => await joinAlbum(entry, removal))
    if (album) return scheduleAlbum(album, isSteering)
    // If a crash of the machine undoes this, the message is still in the inbox.
    await state.commit([...removal, runner.enqueue(entry)], { survives: 'process' })
    // The note below may wait long for its turn in the chat's budget.
    if (entry.albumID === undefined) runner.startQueue(entry)
    if (running.length > 0 && (busy === 'queue' || !isOwn || (busy === 'steer' && !isSteering)))
      await postQueuePosition(entry)
    if (hasNote) return actOncePrepared(entry, busy)
    if (entry.albumID === undefined && isSteering && running.length > 0) {
      // It waits behind others, which may steer as soon as they are transcribed.
      actOncePrepared(entry, busy)
      return await postQueuePosition(entry)
    }
    if (busy === 'interrupt' && isOwn) interrupt(running, entry.actor)
    if (entry.albumID !== undefined) scheduleAlbum(entry, isSteering)
  }

  /**
   * Starts the queue of a prompt that waits until voice notes are transcribed: its own, or those before it. If it is still queued
   * then, steers or interrupts the running ones as `busy` says, with the rights that its authors have by then.
   */
  function actOncePrepared(entry: QueuedPrompt, busy: Busy): void {
    runner.startQueue(entry)
    if (busy === 'queue') return
    const act = async (): Promise<void> => {
      await prepareUpTo(entry)
      const actNow = busy === 'steer' ? steerWaiting : interruptFor
      await runner.changeQueue(entry, async () => await actNow(entry))
    }
    void state.withRetries(act).catch((error: unknown) => isTakenOver(error) || onError(toError(error)))
  }

  /** Prepares the prompts of a queue up to this one, oldest first, so that their quotations have the order of the notes. */
  async function prepareUpTo(entry: QueuedPrompt): Promise<void> {
    const id = runner.queueIDOf(entry)
    const waiting = await runner.queuedPrompts(entry)
    const until = waiting.findIndex((one) => runner.queueIDOf(one) === id)
    for (const one of waiting.slice(0, until + 1)) if (isUnprepared(one)) await runner.prepare(one)
  }

  /**
   * Passes the queued prompts of a place on to its running turn, oldest first. Ends at one that must not steer, has a voice note
   * that is not transcribed, or is of an album.
   */
  async function steerWaiting(place: ChatPlace): Promise<void> {
    for (;;) {
      const [prompt] = await runner.queuedPrompts(place)
      if (!prompt || prompt.albumID !== undefined || isUnprepared(prompt) || busyPolicyOf(prompt) !== 'steer') return
      const isAllowed = runs.active(prompt).every((run) => maySteer(run, prompt, people))
      if (!isAllowed || !(await runner.canSteer(prompt))) return
      await runner.beginNow(prompt, [
        { type: 'dequeue', queue: runner.queueNameOf(prompt), id: runner.queueIDOf(prompt) },
      ])
    }
  }

  /** Interrupts the running ones for a queued prompt, if its author may. Does nothing if it has left the queue or is not transcribed. */
  async function interruptFor(entry: QueuedPrompt): Promise<void> {
    const id = runner.queueIDOf(entry)
    const prompt = (await runner.queuedPrompts(entry)).find((one) => runner.queueIDOf(one) === id)
    if (!prompt || isUnprepared(prompt)) return
    const running = runs.active(prompt)
    if (running.every((run) => mayActOn(run, prompt, people))) interrupt(running, prompt.actor)
  }

  /** Returns what a message does while the agent works there. `queue` if the config has no entry for the place. */
  function busyPolicyOf(place: ChatPlace): Busy {
    return typeof router.busy === 'string'
      ? router.busy
      : (entryFor(router.busy, place, options.withFirstID) ?? 'queue')
  }

  /** Starts an album when no further message of it arrived for its gap. Retries while the store fails. */
  function scheduleAlbum(latest: QueuedPrompt, isSteering: boolean): void {
    const begin = async (): Promise<void> =>
      await runner.changeQueue(latest, async () => await beginAlbumIfComplete(latest, isSteering))
    clock.after(albumWaitMs(latest, 0), () => void state.withRetries(begin).catch(onError))
  }

  /**
   * Starts the queued prompt of an album: beside the running one if it steers, still may and has no voice note, otherwise through the queue. Does
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
    const isAllowed =
      isSteering && !isUnprepared(album) && runs.active(album).every((run) => maySteer(run, album, people))
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
   * Resolves with that prompt. Resolves with undefined, and writes nothing, if the message must become a prompt of its own: it has no
   * album, or the queue has no prompt of that album by the same author, or that prompt changed or started meanwhile.
   */
  async function joinAlbum(entry: QueuedPrompt, removal: readonly Write[]): Promise<QueuedPrompt | undefined> {
    if (entry.albumID === undefined) return undefined
    const album = (await runner.queuedPrompts(entry)).findLast((one) => isOfAlbum(one, entry))
    // An album has one author. A message of someone else is a prompt of its own.
    if (!album || album.channel !== entry.channel || album.actor.id !== entry.actor.id) return undefined
    const grown = withAlbumPart(album, entry)
    return (await state.commit([...removal, runner.replace(grown)])) ? grown : undefined
  }
}

/** Whether a text is an answer to a permission and nothing else, for example "yes" or "2". */
function isBareAnswer(text: string): boolean {
  const read = readPermissionAnswer(text, { canAlways: true })
  return read.type === 'answer' || (read.type === 'reject' && read.message === undefined)
}
