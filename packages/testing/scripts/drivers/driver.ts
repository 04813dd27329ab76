import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TestingError } from '../../src/error.ts'
import type { Kit } from '../kit.ts'
import type { Request } from '../wires/wire.ts'

/** Plays a person: prompts, answers, aborts. Resolves after the last action. The recorder then waits for quiet. */
export type Driver = (kit: Kit) => Promise<void>
/** The drivers by the name of their scenario. */
export type Drivers = Readonly<Record<string, Driver>>

/** Creates a session and sends the scenario's prompt, without waiting for its run. Resolves with the session's id. */
export const begin = async (kit: Kit): Promise<string> => {
  const sessionID = await kit.create()
  await kit.prompt(sessionID)
  return sessionID
}

/** Returns a driver that sends one prompt, does `between` while it runs, and waits until its run has ended. */
export const during =
  (between: (kit: Kit, sessionID: string) => Promise<void>): Driver =>
  async (kit) => {
    const sessionID = await begin(kit)
    await between(kit, sessionID)
    await kit.idle(sessionID)
  }

/**
 * Waits until the script is at a hold, and its last text before the hold has arrived. If the step begins with the hold,
 * waits until the step has begun. Rejects if no step has such a hold.
 */
export const held = async (kit: Kit, name: string): Promise<void> => {
  await kit.model.held(name)
  const text = textBefore(kit, name)
  let received = ''
  let seen = 0
  await kit.tape.seen(`the text before the hold ${name}`, () => {
    for (const frame of kit.tape.frames.slice(seen)) {
      const { delta } = frame.properties
      if (typeof delta === 'string') received += delta
      if (text === '' && kit.wire.isStart(frame)) return true
    }
    seen = kit.tape.frames.length
    return text !== '' && received.includes(text)
  })
  await kit.tape.quiet(250)
}

/**
 * Returns the last text or thinking of a step before its hold. Empty if there is none. Throws if no step has the hold.
 */
const textBefore = (kit: Kit, name: string): string => {
  const steps = Object.values(kit.scenario.scripts).flatMap((script) => script.steps)
  const pieces = steps.find(
    (step) => Array.isArray(step) && step.some((piece) => piece.type === 'hold' && piece.name === name),
  )
  if (!Array.isArray(pieces)) throw new TestingError('scenario', `No step of ${kit.scenario.name} holds at ${name}.`)
  const before = pieces.slice(
    0,
    pieces.findIndex((piece) => piece.type === 'hold' && piece.name === name),
  )
  const last = before.findLast((piece) => piece.type === 'text' || piece.type === 'reasoning')
  return last?.text ?? ''
}

/**
 * Waits until the scripted command has made the file `started`, and the stream is quiet. Older servers report no output
 * before the command ends. Rejects if the file isn't there after a minute.
 */
export const commandRuns = async (kit: Kit): Promise<void> => {
  const file = join(kit.opencode.directory, 'started')
  for (let tries = 0; !existsSync(file); tries++) {
    if (tries === 600) throw new TestingError('scenario', `The command made no ${file} within 60 s: did it run at all?`)
    await sleep(100)
  }
  await kit.tape.quiet(250)
}

/** Resolves with the nth question or permission that is asked, from 0, counting each once. Rejects after a minute. */
export const asked = async (kit: Kit, type: Request['type'], nth = 0): Promise<Request> => {
  const seen: string[] = []
  const frame = await kit.event(`${type} ${nth} is asked`, (each) => {
    const request = kit.wire.askedIn(each)
    if (request?.type !== type) return false
    if (!seen.includes(request.id)) seen.push(request.id)
    return seen.length > nth
  })
  return kit.wire.askedIn(frame) ?? { type, id: '', sessionID: '' }
}

/** Answers the first question, as soon as it is asked. */
export const answer = async (kit: Kit, answers: readonly (readonly string[])[]): Promise<void> =>
  kit.wire.answer(await asked(kit, 'question'), answers)

/** Answers the nth permission, from 0, as soon as it is asked. */
export const permit = async (kit: Kit, reply: string, nth = 0, message?: string): Promise<void> =>
  kit.wire.permit(await asked(kit, 'permission', nth), message === undefined ? { reply } : { reply, message })
