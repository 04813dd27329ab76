import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Drivers, held } from './driver.ts'

/** The drivers of several turns, and of prompts with files, settings and commands. */
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
    await kit.idle(first)
    kit.model.release('second')
    await kit.idle(second)
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
    await kit.command(sessionID, 'greet', 'the world')
    await kit.idle(sessionID)
  },
  'command-subtask': async (kit) => {
    const sessionID = await kit.create()
    await kit.command(sessionID, 'survey', 'the land')
    await kit.idle(sessionID)
  },
  shell: async (kit) => {
    const sessionID = await kit.create()
    await kit.wire.shell(sessionID, 'echo from a person')
    await kit.idle(sessionID)
  },
  'no-reply': async (kit) => {
    await kit.prompt(await kit.create(), { more: { noReply: true } })
    await kit.event('the prompt', kit.wire.isPrompt)
    await kit.tape.quiet(800)
  },
  'no-reply-then-prompt': async (kit) => {
    const sessionID = await kit.create()
    await kit.prompt(sessionID, { words: 'Just so you know.', more: { noReply: true } })
    await kit.event('the prompt', kit.wire.isPrompt)
    await kit.tape.quiet(800)
    await kit.turn(sessionID, { script: 'no-reply-then-prompt/second' })
  },
  'unknown-model': async (kit) => {
    await kit.prompt(await kit.create(), { more: { model: { providerID: 'fake', modelID: 'nope' } } })
    await kit.event('an error', kit.wire.isFailure)
  },
  'compaction-manual': async (kit) => {
    const sessionID = await kit.create()
    await kit.turn(sessionID)
    await kit.settled()
    await kit.wire.compact(sessionID)
    await kit.settled()
    await kit.turn(sessionID, { script: 'compaction-manual/second' })
  },
}
