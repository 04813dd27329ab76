import { emptyReply, isShownText, partsOf } from '@reply/core'
import { stopwatch } from '@reply/core/internal'
import type { Actor, MessageRef } from '@reply/sink'
import { receivedAgoMs } from '../chats/seen-messages.ts'
import { toError } from '../error.ts'
import type { Person } from '../people/people.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { type ActiveRun, cancelFor, mayActOn } from '../runs/active-runs.ts'
import { callWhileDue } from '../servers/lease-context.ts'
import { pressMs } from '../state/forwarded-press.ts'
import { type QueuedPrompt, wasSentBefore } from '../state/queued-prompt.ts'
import { isTried } from '../state/tried.ts'
import type { Write } from '../store/store.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import { waitAtMost } from '../timers.ts'
import { isAudio } from '../voice/audio.ts'
import type { Command, CommandReply, CommandServices } from './command.ts'
import { LatePressError, type RequireDue } from './late-press.ts'

/** Stops what runs in the chat, see `stopRuns`. `/stop` and `/cancel` do the same. */
export function stopCommand(name: 'stop' | 'cancel', services: CommandServices): Command {
  return {
    name,
    description: 'stop what runs here',
    run: async ({ place, person, entry }) => await stopRuns(services, { place, person, ...entry, command: `/${name}` }),
  }
}

/** Like `/stop`, but refuses while an active run compacts its context. */
export function interruptCommand(services: CommandServices): Command {
  return {
    name: 'interrupt',
    description: 'stop what runs here, unless it compacts the context',
    run: async ({ place, person, entry }) => {
      const active = services.runs.active(place)
      const isCompacting = active.some(({ stream }) => stream()?.reply?.compaction?.state === 'running')
      if (isCompacting) return { text: texts.compacting }
      const reply = await stopRuns(services, { place, person, ...entry, command: '/interrupt' })
      return reply.text === texts.canceled ? { text: texts.interrupted } : reply
    },
  }
}

/** A person's request to stop the runs of a place. */
export interface StopRequest extends Partial<Pick<QueuedPrompt, 'tries' | 'messageRef'>> {
  /** The command that the person sent. Default: `/stop`. */
  readonly command?: string | undefined
  readonly place: ChatPlace
  readonly person: Person
  readonly actor: Actor
  /** For a press of the platform's Stop button. A command only stops what it was meant for once it is late. */
  readonly requireDue?: RequireDue | undefined
  /** Whether it may stop a run. Default: it may stop all, unless it is a command that is late. */
  readonly isMeantFor?: ((run: ActiveRun) => boolean) | undefined
}

/**
 * Removes the first queued prompt of a place if its voice note is being transcribed, or if a late command was meant for it, and
 * resolves with the reply. Leaves that of another person, and says so, unless an admin asks. Undefined if there is no such prompt.
 * Rejects with a `LatePressError` if the request is too late and was not meant for that prompt.
 */
async function dropFirst(
  { state, runner, people }: CommandServices,
  { place, person, actor }: StopRequest,
  { requireDue, aim }: { readonly requireDue: RequireDue | undefined; readonly aim: StopAim | undefined },
): Promise<CommandReply | undefined> {
  const [prompt] = await runner.queuedPrompts(place)
  if (!prompt) return undefined
  const isMeant = aim?.isMeantForPrompt(prompt) === true
  if (!prompt.files.some(isAudio) && !(isMeant && aim?.isBound)) return undefined
  if (!people.isSamePerson(prompt, { channel: place.channel, actor }) && !person.may.has('admin'))
    return { text: texts.othersRun(plain(prompt.actor.name)) }
  const removal: Write = { type: 'dequeue', queue: runner.queueNameOf(place), id: runner.queueIDOf(prompt) }
  if (!(await state.commit([removal], isMeant ? {} : { requireDue }))) return undefined
  runner.cancelTranscription(prompt)
  return { text: texts.canceled }
}

/**
 * Whether the last run of a session here was put aside and is the person's own. Its agent may be at work if it could not be
 * stopped. Not a run that was started elsewhere: that goes on there.
 */
async function isLeft(
  { registry, people }: CommandServices,
  { place, actor }: StopRequest,
  sessionID: string,
): Promise<boolean> {
  const last = (await registry.listRecent(place)).find((one) => one.sessionID === sessionID)
  if (last?.reason !== texts.poisonReason || last.followed) return false
  return people.isSamePerson(last.prompt, { channel: place.channel, actor })
}

/** What a command is to stop that may be handled long after it was received. */
interface StopAim {
  /**
   * Whether it was tried before a restart, is handled more than `pressMs` after it was received, or waited for that long. Then it is
   * bound to its aim.
   */
  readonly isBound: boolean
  /** Whether it was meant for a run: one that ran when it was received, or whose prompt it was meant for. */
  readonly isMeantFor: (run: ActiveRun) => boolean
  /** Whether it was sent after a prompt of the same chat, and no run there has ended since it was received. */
  readonly isMeantForPrompt: (prompt: QueuedPrompt) => boolean
}

/** Returns the aim of a command, by the message with which it was sent. `hasWaited`: as in `StopAim.isBound`. */
async function aimOf(
  { state, registry, clock }: CommandServices,
  { place, tries }: StopRequest,
  messageRef: MessageRef,
  hasWaited = false,
): Promise<StopAim> {
  const agoMs = await receivedAgoMs(state, place, messageRef)
  const sinceMs = stopwatch(clock)
  const isBound = hasWaited || isTried({ tries }) || agoMs > pressMs
  // What it was meant for may have ended since it was received. Then it must not stop what began after that.
  const endAgesMs = isBound ? await registry.endAgesMs(place) : []
  const receivedMs = agoMs + sinceMs()
  const hasEndedSince = endAgesMs.some((ageMs) => ageMs < receivedMs)
  const isMeantForPrompt = (prompt: QueuedPrompt): boolean =>
    !hasEndedSince && placeKey(prompt) === placeKey(place) && wasSentBefore(prompt, { messageRef })
  const isMeantFor = (run: ActiveRun): boolean => {
    const { isCanceled, prompt, followed, startedBy } = run.execution()
    if (isCanceled || run.ageMs() >= agoMs + sinceMs()) return true
    return followed === undefined && startedBy === undefined && isMeantForPrompt(prompt)
  }
  return { isBound, isMeantFor, isMeantForPrompt }
}

/** Refuses what a late command was not meant for. */
function refuseLate(): never {
  throw new LatePressError()
}

/** Waits until a prompt that is about to begin is active, at most for `pressMs`. Resolves with whether it still isn't: it is held. */
async function isNextHeld({ runner, clock }: CommandServices, place: ChatPlace): Promise<boolean> {
  let isHeld = true
  const changed = runner.changeQueue(place, async () => {
    isHeld = false
  })
  await waitAtMost(changed, pressMs, clock)
  return isHeld
}

/**
 * How long a stop may take to be shown below the answers before it gets a message of its own, in ms. Telegram's limit delays an edit by
 * 3.3 s at most.
 */
const shownMs = 4000

/**
 * Resolves with whether each of these answers says in the chat that it was stopped, at the latest after `shownMs`. Undefined if the
 * stop needs a message: one of the answers has no text yet, or the chat is not private, so that people write in between.
 */
function shownBelow(
  stopped: readonly ActiveRun[],
  place: ChatPlace,
  clock: CommandServices['clock'],
): Promise<boolean> | undefined {
  const hasText = (run: ActiveRun): boolean => partsOf(run.stream()?.reply ?? emptyReply('')).some(isShownText)
  if (place.chat.kind !== 'private' || !stopped.every(hasText)) return undefined
  const here = stopped.map(({ sinks }) => sinks.find((one) => placeKey(one) === placeKey(place))?.sink)
  let isShown = false
  const all = Promise.all(here.map(async (sink) => await sink?.settled())).then((each) => {
    isShown = each.every((delivery) => delivery?.saysStopped)
  })
  return waitAtMost(all, shownMs, clock).then(() => isShown)
}

/** The runs of a place that can be stopped there. */
function stoppable(runs: CommandServices['runs'], place: ChatPlace): readonly ActiveRun[] {
  const active = runs.active(place)
  if (active.length > 0) return active
  // A run that was started elsewhere is not active if the chat shows only its asks.
  return runs.followed(place).filter((run) => run.execution().followed === 'asks' && !run.hasLeft?.())
}

/**
 * Does what is left of a Stop that was received before, `agoMs` ago: the process that had the chat then may have ended before or after
 * it was carried out. Stops what ran at that time, like `stopRuns`. Resolves with undefined, and does nothing, if all of that has ended.
 */
export async function stopAgain(
  services: CommandServices,
  request: StopRequest,
  agoMs: () => number,
): Promise<CommandReply | undefined> {
  const { runner, runs, people } = services
  const { place, actor } = request
  await runner.whenRestored(place)
  const isMeantFor = (run: ActiveRun): boolean => run.execution().isCanceled === true || run.ageMs() >= agoMs()
  const mayStop = (run: ActiveRun): boolean => mayActOn(run, { channel: place.channel, actor }, people)
  const isOver = !stoppable(runs, place).some((run) => isMeantFor(run) && mayStop(run))
  return isOver ? undefined : await stopRuns(services, { ...request, isMeantFor })
}

/**
 * Stops the active runs of a place that the person may act on, and resolves with the reply. Leaves those of others, and names
 * one of them if there is nothing else to stop. If the place has no run, stops those that were started elsewhere and whose asks it
 * shows. Without these, removes a queued prompt, see `dropFirst`. Otherwise aborts the session: for an admin, because
 * a run may have been started elsewhere, and for the author of a run that was put aside.
 *
 * A command that was tried before a restart, or that is handled more than `pressMs` after it was received, only stops runs that it was
 * meant for, see `StopAim`. So does one that waited for a prompt that is held. If a run can't be stopped, the error goes to `onError`
 * and into the reply. Rejects with a `LatePressError` if a press is too late.
 */
export async function stopRuns(services: CommandServices, request: StopRequest): Promise<CommandReply> {
  const { place, person, actor, messageRef, command = '/stop' } = request
  const { runner, runs, routes, people, servers, clock, onError } = services
  await runner.whenRestored(place)
  const received = messageRef && (await aimOf(services, request, messageRef))
  const isHeld = runs.active(place).length === 0 && (await isNextHeld(services, place))
  const aim = isHeld && messageRef ? await aimOf(services, request, messageRef, true) : received
  // A command that was in time has no limit. Otherwise a server that answers slowly would make each one late, however often it is sent.
  const requireDue = request.requireDue ?? (received?.isBound ? refuseLate : undefined)
  const all = stoppable(runs, place)
  const running = aim?.isBound ? all.filter(aim.isMeantFor) : all.filter(request.isMeantFor ?? (() => true))
  if (running.length === 0 && request.isMeantFor) return { text: texts.nothingRuns }
  if (running.length === 0 && isTried(request)) return { text: texts.restartedCommand(command) }
  if (running.length === 0 && all.length > 0) return { text: texts.lateStop(command) }
  const mine = running.filter((run) => mayActOn(run, { channel: place.channel, actor }, people))
  const [others] = running.filter((run) => !mine.includes(run))
  if (mine.length === 0 && others) {
    const { followed, prompt } = others.execution()
    return { text: followed ? texts.mayNot('approve') : texts.othersRun(plain(prompt.actor.name)) }
  }
  try {
    // A command is bound to these runs from here on.
    request.requireDue?.()
    const dropped = running.length === 0 ? await dropFirst(services, request, { requireDue, aim }) : undefined
    if (dropped) return dropped
    const stops = await Promise.allSettled(mine.map(async (run) => await cancelFor(run, actor)))
    const failed = stops.find((stop) => stop.status === 'rejected')
    if (failed) throw failed.reason
    if (mine.length > 0) return { text: texts.canceled, isShown: shownBelow(mine, place, clock) }
    const route = await routes.routeOf(place)
    const client = route && servers.get(route.server)
    // The session may have a run that was started elsewhere.
    if (!client || route.sessionID === undefined) return { text: texts.nothingRuns }
    if (!person.may.has('admin') && !(await isLeft(services, request, route.sessionID)))
      return { text: texts.nothingRuns }
    const reply = await client.reply(route.sessionID)
    if (!reply || reply.phase === 'settled') return { text: texts.nothingRuns }
    // The next prompt of the chat may have begun meanwhile. It is not the run that is to be stopped.
    if (runs.active(place).length > 0) return { text: texts.nothingRuns }
    const { sessionID } = route
    await callWhileDue(requireDue ?? (() => {}), async () => await client.abort(sessionID))
    return { text: texts.canceled }
  } catch (error) {
    if (error instanceof LatePressError && request.requireDue) throw error
    if (error instanceof LatePressError) return { text: texts.lateStop(command) }
    onError(toError(error))
    return { text: texts.notStopped(plain(chatMessageOf(error))) }
  }
}
