import type { Kit } from '../kit.ts'
import { asked, begin, commandRuns, type Drivers, during, held, permit } from './driver.ts'

const queued = { delivery: 'queue' } as const

/** Sends another prompt, which names one of the scenario's further scripts. `more` are its settings. */
const say = (kit: Kit, sessionID: string, script: string, more: object = {}): Promise<void> =>
  kit.prompt(sessionID, { script: `${kit.scenario.name}/${script}`, words: 'And this, please.', more })

/** Plays two turns and reverts the second. Resolves with the session's id. */
const reverted = async (kit: Kit): Promise<string> => {
  const sessionID = await kit.create()
  await kit.turn(sessionID)
  await kit.settled()
  await kit.turn(sessionID, { script: `${kit.scenario.name}/second`, words: 'A mistake.' })
  await kit.settled()
  const users = await kit.wire.users(sessionID)
  await kit.wire.revert(sessionID, users[1] ?? '')
  await kit.settled()
  return sessionID
}

/** Restarts the server and connects the event streams again. */
const restart = async (kit: Kit): Promise<void> => {
  await kit.opencode.restart()
  await kit.reconnect()
}

/** The drivers of the scenarios that only OpenCode 2 plays. */
export const secondDrivers: Drivers = {
  queue: during(async (kit, sessionID) => {
    await held(kit, 'middle')
    await say(kit, sessionID, 'second', queued)
    kit.model.release('middle')
  }),
  'queue-tool': during(async (kit, sessionID) => {
    await commandRuns(kit)
    await say(kit, sessionID, 'second', queued)
  }),
  'queue-twice': during(async (kit, sessionID) => {
    await held(kit, 'middle')
    await say(kit, sessionID, 'second', queued)
    await say(kit, sessionID, 'third', queued)
    kit.model.release('middle')
  }),
  'queue-and-steer': during(async (kit, sessionID) => {
    await commandRuns(kit)
    await say(kit, sessionID, 'second', queued)
    await say(kit, sessionID, 'third')
  }),
  'queue-failed': during(async (kit, sessionID) => {
    await commandRuns(kit)
    await say(kit, sessionID, 'second', queued)
  }),
  parked: async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'middle')
    await say(kit, sessionID, 'second', queued)
    await kit.wire.abort(sessionID)
    await kit.idle(sessionID)
    await kit.settled()
    await kit.turn(sessionID, { script: 'parked/third', words: 'Go on.' })
  },
  'parked-by-rejection': during(async (kit, sessionID) => {
    await asked(kit, 'permission')
    await say(kit, sessionID, 'second', queued)
    await permit(kit, 'reject')
  }),
  'steer-permission': during(async (kit, sessionID) => {
    await asked(kit, 'permission')
    await say(kit, sessionID, 'second')
    await permit(kit, 'once')
  }),
  'permission-always-again': during((kit) => permit(kit, 'always')),
  'prompt-repeated': async (kit) => {
    const sessionID = await kit.create()
    const more = { id: 'msg_0123456789abABCDEFGHIJKLMN' }
    await kit.turn(sessionID, { more })
    await kit.settled()
    await kit.turn(sessionID, { more })
  },
  'shell-background': async (kit) => {
    const sessionID = await begin(kit)
    await kit.idle(sessionID)
    const since = kit.tape.frames.length
    await kit.opencode.write({ go: '' })
    await kit.idle(sessionID, since)
  },
  'question-unanswered': during(async (kit) => {
    await kit.wire.answer(await asked(kit, 'question'), [])
  }),
  'subagent-rejected': during((kit) => permit(kit, 'reject')),
  'subagent-moved': async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'background')
    await kit.send('POST', `/api/session/${sessionID}/background`)
    await kit.idle(sessionID)
    await kit.tape.quiet(400)
    const since = kit.tape.frames.length
    kit.model.release('background')
    await kit.idle(sessionID, since)
  },
  'subagent-background-two': async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'left')
    await held(kit, 'right')
    await kit.idle(sessionID)
    for (const side of ['right', 'left']) {
      await kit.tape.quiet(400)
      const since = kit.tape.frames.length
      kit.model.release(side)
      await kit.idle(sessionID, since)
    }
  },
  'revert-staged': async (kit) => {
    await reverted(kit)
  },
  'revert-committed': async (kit) => {
    await kit.send('POST', `/api/session/${await reverted(kit)}/revert/commit`)
  },
  stopped: async (kit) => {
    await begin(kit)
    await held(kit, 'middle')
    await restart(kit)
  },
  'stopped-tool': async (kit) => {
    await begin(kit)
    await commandRuns(kit)
    await restart(kit)
  },
  'stopped-then-prompt': async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'middle')
    await restart(kit)
    await kit.settled()
    await kit.turn(sessionID, { script: 'stopped-then-prompt/second' })
  },
}
