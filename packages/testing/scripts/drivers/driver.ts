import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TestingError } from '../../src/error.ts'
import type { Kit } from '../kit.ts'
import type { Request } from '../wires/wire.ts'

/** Plays a person: prompts, answers, aborts. Ends when nothing more is to be done; the recorder then waits for quiet. */
export type Driver = (kit: Kit) => Promise<void>
export type Drivers = Readonly<Record<string, Driver>>

/** Creates a session and sends the scenario's prompt, without waiting. */
export const begin = async (kit: Kit): Promise<string> => {
  const sessionID = await kit.create()
  await kit.prompt(sessionID)
  return sessionID
}

/** One prompt, played to its end. What is `between` happens while it runs. */
export const during =
  (between: (kit: Kit, sessionID: string) => Promise<void>): Driver =>
  async (kit) => {
    const sessionID = await begin(kit)
    await between(kit, sessionID)
    await kit.idle(sessionID)
  }

/** The script waits at a hold, and all that it said before has come through. */
export const held = async (kit: Kit, name: string): Promise<void> => {
  await kit.model.held(name)
  const words = wordsBefore(kit, name)
  let said = ''
  let seen = 0
  await kit.tape.seen(`the words before the hold ${name}`, () => {
    for (const frame of kit.tape.frames.slice(seen)) {
      const { delta } = frame.properties
      if (typeof delta === 'string') said += delta
      // A step that begins with its hold says nothing; that it has begun must do.
      if (words === '' && kit.wire.isStart(frame)) return true
    }
    seen = kit.tape.frames.length
    return words !== '' && said.includes(words)
  })
  await kit.tape.quiet(250)
}

/** What the step with this hold streams last before it waits. */
const wordsBefore = (kit: Kit, name: string): string => {
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

/** The scripted command runs: it has made its file. Older servers report no output before the command ends. */
export const commandRuns = async (kit: Kit): Promise<void> => {
  const file = join(kit.opencode.directory, 'started')
  for (let tries = 0; !existsSync(file); tries++) {
    if (tries === 600) throw new TestingError('scenario', `The command made no ${file} within 60 s: did it run at all?`)
    await sleep(100)
  }
  await kit.tape.quiet(250)
}

/** The nth question or permission that is asked, from 0. */
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

export const answer = async (kit: Kit, answers: readonly (readonly string[])[]): Promise<void> =>
  kit.wire.answer(await asked(kit, 'question'), answers)

export const permit = async (
  kit: Kit,
  reply: string,
  { nth = 0, message }: { nth?: number; message?: string } = {},
): Promise<void> =>
  kit.wire.permit(await asked(kit, 'permission', nth), message === undefined ? { reply } : { reply, message })
