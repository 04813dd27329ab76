import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Drivers, held, idle } from './driver.ts'

export const turnDrivers: Drivers = {
  'two-turns': async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    await kit.turn(sessionID, { script: 'two-turns/second' })
  },
  'two-sessions': async (kit) => {
    const first = await kit.create()
    const second = await kit.create()
    await kit.prompt(first)
    await held(kit, 'first')
    await kit.prompt(second, { script: 'two-sessions/second' })
    await held(kit, 'second')
    kit.model.release('first')
    await idle(kit, first)
    kit.model.release('second')
    await idle(kit, second)
  },
  'file-prompt': async (kit) => {
    const sessionID = await kit.create()
    const url = pathToFileURL(join(kit.opencode.directory, 'notes.txt')).href
    await kit.turn(sessionID, { parts: [{ type: 'file', mime: 'text/plain', filename: 'notes.txt', url }] })
  },
  'plan-agent': async (kit) => {
    await kit.turn(await kit.create(), { more: { agent: 'plan' } })
  },
  command: async (kit) => {
    const sessionID = await kit.create()
    await kit.post(`/session/${sessionID}/command`, { command: 'greet', arguments: 'the world' })
    await idle(kit, sessionID)
  },
  'command-subtask': async (kit) => {
    const sessionID = await kit.create()
    await kit.post(`/session/${sessionID}/command`, { command: 'survey', arguments: 'the land' })
    await idle(kit, sessionID)
  },
  shell: async (kit) => {
    const sessionID = await kit.create()
    await kit.post(`/session/${sessionID}/shell`, { agent: 'build', command: 'echo from a person' })
    await idle(kit, sessionID)
  },
  'no-reply': async (kit) => {
    await kit.prompt(await kit.create(), { more: { noReply: true } })
    await kit.event('message.part.updated')
    await kit.tape.quiet(800)
  },
  'no-reply-then-prompt': async (kit) => {
    const sessionID = await kit.create()
    await kit.prompt(sessionID, { words: 'Just so you know.', more: { noReply: true } })
    await kit.event('message.part.updated')
    await kit.tape.quiet(800)
    await kit.turn(sessionID, { script: 'no-reply-then-prompt/second' })
  },
  'unknown-model': async (kit) => {
    await kit.prompt(await kit.create(), { more: { model: { providerID: 'fake', modelID: 'nope' } } })
    await kit.event('session.error')
  },
  'compaction-manual': async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    await kit.post(`/session/${sessionID}/summarize`, { providerID: 'fake', modelID: 'm1' })
    await kit.settled()
    await kit.turn(sessionID, { script: 'compaction-manual/second' })
  },
}
