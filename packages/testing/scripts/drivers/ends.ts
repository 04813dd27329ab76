import type { Kit } from '../kit.ts'
import { listAt, stringAt } from '../wires/json.ts'
import { asked, begin, commandRuns, type Drivers, during, held } from './driver.ts'

const abortAtHold = during(async (kit, sessionID) => {
  await held(kit, 'middle')
  await kit.wire.abort(sessionID)
})

/** Resolves with the id of the nth user message of a session, from 0. Empty if there is none. */
const userMessage = async (kit: Kit, sessionID: string, nth: number): Promise<string> => {
  const users = await kit.wire.users(sessionID)
  return users[nth] ?? ''
}

/** The drivers that abort, prompt again, revert, and end servers. */
export const endDrivers: Drivers = {
  'abort-text': abortAtHold,
  'abort-reasoning': abortAtHold,
  'abort-before-text': abortAtHold,
  'abort-child': abortAtHold,
  'abort-tool': during(async (kit, sessionID) => {
    await commandRuns(kit)
    await kit.wire.abort(sessionID)
  }),
  'abort-permission': during(async (kit, sessionID) => {
    await asked(kit, 'permission')
    await kit.tape.quiet(250)
    await kit.wire.abort(sessionID)
  }),
  'abort-question': during(async (kit, sessionID) => {
    await asked(kit, 'question')
    await kit.tape.quiet(250)
    await kit.wire.abort(sessionID)
  }),
  'abort-child-permission': async (kit) => {
    const sessionID = await begin(kit)
    await asked(kit, 'permission')
    await kit.tape.quiet(250)
    await kit.wire.abort(sessionID)
  },
  'abort-then-prompt': async (kit) => {
    await abortAtHold(kit)
    await kit.settled()
    await kit.turn(await kit.idle(), { script: 'abort-then-prompt/second' })
  },
  'retry-aborted': during(async (kit, sessionID) => {
    await kit.event('a retry', kit.wire.isRetry)
    await kit.wire.abort(sessionID)
  }),
  'second-prompt': during(async (kit, sessionID) => {
    await held(kit, 'middle')
    await kit.prompt(sessionID, { script: 'second-prompt/second', words: 'And this, please.' })
    await kit.tape.quiet(250)
    kit.model.release('middle')
  }),
  'second-prompt-tool': during(async (kit, sessionID) => {
    await commandRuns(kit)
    await kit.prompt(sessionID, { script: 'second-prompt-tool/second', words: 'And this, please.' })
  }),
  revert: async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    await kit.turn(sessionID, { script: 'revert/second', words: 'A mistake.' })
    await kit.settled()
    await kit.wire.revert(sessionID, await userMessage(kit, sessionID, 1))
    await kit.settled()
    await kit.turn(sessionID, { script: 'revert/third', words: 'Better so.' })
  },
  'revert-undone': async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    await kit.turn(sessionID, { script: 'revert-undone/second', words: 'No mistake.' })
    await kit.settled()
    await kit.wire.revert(sessionID, await userMessage(kit, sessionID, 1))
    await kit.settled()
    await kit.wire.unrevert(sessionID)
  },
  'part-removed': async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    await kit.turn(sessionID, { script: 'part-removed/second' })
    await kit.settled()
    const list = listAt(await kit.read(`/session/${sessionID}/message`))
    await kit.send('DELETE', `/session/${sessionID}/message/${stringAt(list[1], 'info', 'id')}`)
    const last = list.at(-1)
    await kit.send(
      'DELETE',
      `/session/${sessionID}/message/${stringAt(last, 'info', 'id')}/part/${stringAt(last, 'parts', '1', 'id')}`,
    )
  },
  'session-deleted': async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'middle')
    await kit.wire.remove(sessionID)
    kit.forget(sessionID)
    await kit.event('session.deleted', ({ type }) => type === 'session.deleted')
  },
  fork: async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    const fork = await kit.wire.fork(sessionID)
    kit.adopt(fork)
    await kit.turn(fork, { script: 'fork/second' })
  },
  killed: async (kit) => {
    await begin(kit)
    await held(kit, 'middle')
    await kit.opencode.kill()
    await kit.opencode.restart()
    await kit.reconnect()
  },
  'killed-tool': async (kit) => {
    await begin(kit)
    await commandRuns(kit)
    await kit.opencode.kill()
    await kit.opencode.restart()
    await kit.reconnect()
  },
  'killed-then-prompt': async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'middle')
    await kit.opencode.kill()
    await kit.opencode.restart()
    await kit.reconnect()
    await kit.settled()
    await kit.turn(sessionID, { script: 'killed-then-prompt/second' })
  },
  disposed: async (kit) => {
    await begin(kit)
    await held(kit, 'middle')
    await kit.send('POST', '/instance/dispose')
    await kit.tape.quiet(400)
    await kit.reconnect()
  },
  'subagent-parallel': async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'left')
    await held(kit, 'right')
    kit.model.release('right')
    await kit.idle()
    await kit.tape.quiet(250)
    kit.model.release('left')
    await kit.idle(sessionID)
  },
  'subagent-background': async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'background')
    await kit.idle(sessionID)
    await kit.tape.quiet(400)
    kit.model.release('background')
    await kit.event('the sub-agent is idle', (frame) => (kit.wire.idleIn(frame) ?? sessionID) !== sessionID)
    await kit.tape.quiet(1000)
  },
}
