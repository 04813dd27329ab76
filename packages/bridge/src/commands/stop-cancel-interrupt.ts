import type { Actor } from '@reply/sink'
import { receivedAgoMs } from '../chats/seen-messages.ts'
import { toError } from '../error.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import { cancelFor, mayActOn } from '../runs/active-runs.ts'
import { callWhileDue } from '../servers/lease-context.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { isTried } from '../state/tried.ts'
import type { Write } from '../store/store.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
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
      return reply.text === texts.canceled ? { ...reply, text: texts.interrupted } : reply
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
  /** For a press of the platform's Stop button. Default: it is never late, like a command, which is handled in order. */
  readonly requireDue?: RequireDue | undefined
}

/**
 * Removes the first queued prompt of a place if its voice note is being transcribed, and resolves with the reply. Leaves that of
 * another person, and says so, unless an admin asks. Undefined if there is no such prompt.
 */
async function dropNote(
  { state, runner, people }: CommandServices,
  { place, person, actor, requireDue }: StopRequest,
): Promise<CommandReply | undefined> {
  const [prompt] = await runner.queuedPrompts(place)
  if (!prompt?.files.some(isAudio)) return undefined
  if (!people.isSamePerson(prompt, { channel: place.channel, actor }) && !person.may.has('admin'))
    return { text: texts.othersRun(plain(prompt.actor.name)) }
  const removal: Write = { type: 'dequeue', queue: runner.queueNameOf(place), id: runner.queueIDOf(prompt) }
  if (!(await state.commit([removal], { requireDue }))) return undefined
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

/**
 * Stops the active runs of a place that the person may act on, and resolves with the reply. Leaves those of others, and names
 * one of them if there is nothing else to stop. If the place has no run, stops those that were started elsewhere and whose asks it
 * shows. Without these, removes a prompt whose voice note is being transcribed. Otherwise aborts the session: for an admin, because
 * a run may have been started elsewhere, and for the author of a run that was put aside. A request that was tried before a
 * restart only stops runs that were canceled, or that started before it was received. If a run can't be stopped, the error goes
 * to `onError` and into the reply. Rejects with a `LatePressError` if the request is too late.
 */
export async function stopRuns(services: CommandServices, request: StopRequest): Promise<CommandReply> {
  const { place, person, actor, messageRef, command = '/stop', requireDue = () => {} } = request
  const { state, runner, runs, routes, people, servers, onError } = services
  const isAgain = isTried(request)
  await runner.whenRestored(place)
  const agoMs = isAgain && messageRef ? await receivedAgoMs(state, place, messageRef) : 0
  const active = runs.active(place)
  // A run that was started elsewhere is not active if the chat shows only its asks.
  const asking = active.length > 0 ? [] : runs.followed(place).filter((run) => run.execution().followed === 'asks')
  // Before a crash it may have stopped the run of that time. It must not stop the next one.
  const running = [...active, ...asking].filter((run) => !isAgain || run.execution().isCanceled || run.ageMs() >= agoMs)
  if (isAgain && running.length === 0) return { text: texts.restartedCommand(command) }
  const mine = running.filter((run) => mayActOn(run, { channel: place.channel, actor }, people))
  const [others] = running.filter((run) => !mine.includes(run))
  if (mine.length === 0 && others) {
    const { followed, prompt } = others.execution()
    return { text: followed ? texts.mayNot('approve') : texts.othersRun(plain(prompt.actor.name)) }
  }
  requireDue()
  const note = running.length === 0 ? await dropNote(services, request) : undefined
  if (note) return note
  try {
    const stops = await Promise.allSettled(mine.map(async (run) => await cancelFor(run, actor)))
    const failed = stops.find((stop) => stop.status === 'rejected')
    if (failed) throw failed.reason
    if (mine.length > 0) return { text: texts.canceled }
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
    await callWhileDue(requireDue, async () => await client.abort(sessionID))
    return { text: texts.canceled }
  } catch (error) {
    if (error instanceof LatePressError) throw error
    onError(toError(error))
    return { text: texts.notStopped(plain(chatMessageOf(error))) }
  }
}
