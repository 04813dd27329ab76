import { stringAt } from '../kit.ts'
import { abort, asked, begin, commandRuns, type Driver, type Drivers, during, held, idle } from './driver.ts'

const abortAtHold = during(async (kit, sessionID) => {
  await held(kit, 'middle')
  await abort(kit, sessionID)
})

/** The id of the nth user message of a session, from 0. */
const userMessage = async (kit: Parameters<Driver>[0], sessionID: string, nth: number): Promise<string> => {
  const messages = await kit.read(`/session/${sessionID}/message`)
  const users = (Array.isArray(messages) ? messages : []).filter((each) => stringAt(each, 'info', 'role') === 'user')
  return stringAt(users[nth], 'info', 'id')
}

export const endDrivers: Drivers = {
  'abort-text': abortAtHold,
  'abort-reasoning': abortAtHold,
  'abort-before-text': abortAtHold,
  'abort-child': abortAtHold,
  'abort-tool': during(async (kit, sessionID) => {
    await commandRuns(kit)
    await abort(kit, sessionID)
  }),
  'abort-permission': during(async (kit, sessionID) => {
    await asked(kit, 'permission')
    await kit.tape.quiet(250)
    await abort(kit, sessionID)
  }),
  'abort-question': during(async (kit, sessionID) => {
    await asked(kit, 'question')
    await kit.tape.quiet(250)
    await abort(kit, sessionID)
  }),
  'abort-child-permission': async (kit) => {
    const sessionID = await begin(kit)
    await asked(kit, 'permission')
    await kit.tape.quiet(250)
    await abort(kit, sessionID)
  },
  'abort-then-prompt': async (kit) => {
    await abortAtHold(kit)
    await kit.settled()
    await kit.turn(stringAt(await kit.event('session.idle'), 'sessionID'), { script: 'abort-then-prompt/second' })
  },
  'retry-aborted': during(async (kit, sessionID) => {
    await kit.event('session.status', (properties) => JSON.stringify(properties.status).includes('"retry"'))
    await abort(kit, sessionID)
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
    await kit.post(`/session/${sessionID}/revert`, { messageID: await userMessage(kit, sessionID, 1) })
    await kit.settled()
    await kit.turn(sessionID, { script: 'revert/third', words: 'Better so.' })
  },
  'revert-undone': async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    await kit.turn(sessionID, { script: 'revert-undone/second', words: 'No mistake.' })
    await kit.settled()
    await kit.post(`/session/${sessionID}/revert`, { messageID: await userMessage(kit, sessionID, 1) })
    await kit.settled()
    await kit.post(`/session/${sessionID}/unrevert`)
  },
  'part-removed': async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    await kit.turn(sessionID, { script: 'part-removed/second' })
    await kit.settled()
    const messages = await kit.read(`/session/${sessionID}/message`)
    const list: readonly unknown[] = Array.isArray(messages) ? messages : []
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
    await kit.send('DELETE', `/session/${sessionID}`)
    kit.forget(sessionID)
    await kit.event('session.deleted')
  },
  fork: async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    const fork = stringAt(await kit.post(`/session/${sessionID}/fork`, {}), 'id')
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
    await kit.post('/instance/dispose')
    await kit.tape.quiet(400)
    await kit.reconnect()
  },
  'subagent-parallel': async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'left')
    await held(kit, 'right')
    kit.model.release('right')
    await kit.event('session.idle')
    await kit.tape.quiet(250)
    kit.model.release('left')
    await idle(kit, sessionID)
  },
  'subagent-background': async (kit) => {
    const sessionID = await begin(kit)
    await held(kit, 'background')
    await idle(kit, sessionID)
    await kit.tape.quiet(400)
    kit.model.release('background')
    await kit.event('session.idle', (properties) => properties.sessionID !== sessionID)
    await kit.tape.quiet(1000)
  },
}
