import { type Kit, stringAt } from './kit.ts'

export type Driver = (kit: Kit) => Promise<void>

/** Creates a session, sends the scenario's prompt, and waits for the session's busy state. */
export const begin = async (kit: Kit): Promise<string> => {
  const sessionID = await kit.create()
  await kit.prompt(sessionID)
  return sessionID
}

const isIdle = (sessionID: string) => (properties: Readonly<Record<string, unknown>>) => properties.sessionID === sessionID

const whole: Driver = async (kit) => {
  const sessionID = await begin(kit)
  await kit.event('session.idle', isIdle(sessionID))
}

const drivers: Readonly<Record<string, Driver>> = {
  question: async (kit) => {
    const sessionID = await begin(kit)
    const asked = await kit.event('question.asked')
    await kit.post(`/question/${stringAt(asked, 'id')}/reply`, { answers: [['Blue']] })
    await kit.event('session.idle', isIdle(sessionID))
  },
  'permission-once': async (kit) => {
    const sessionID = await begin(kit)
    const asked = await kit.event('permission.asked')
    await kit.post(`/permission/${stringAt(asked, 'id')}/reply`, { reply: 'once' })
    await kit.event('session.idle', isIdle(sessionID))
  },
  'abort-text': async (kit) => {
    const sessionID = await begin(kit)
    await kit.model.held('middle')
    await kit.tape.quiet(200)
    await kit.post(`/session/${sessionID}/abort`)
    await kit.event('session.idle', isIdle(sessionID))
  },
}

export const driverFor = (scenario: string): Driver => drivers[scenario] ?? whole
