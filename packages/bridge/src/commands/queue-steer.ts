import { oneLine } from '@reply/sink/internal'
import { mayActOn, maySteer } from '../runs/active-runs.ts'
import { authorNames, type QueuedPrompt } from '../state/queued-prompt.ts'
import type { Write } from '../store/store.ts'
import { plain, texts } from '../texts.ts'
import { type Command, type CommandCall, CommandRefusal, type CommandReply, type CommandServices } from './command.ts'

/** How much of an entry is listed, in UTF-16 units. */
const textLength = 100

/** Lists the queued prompts of the chat, removes one, or replaces its text. */
export function queueCommand({ state, runner, people }: CommandServices): Command {
  return {
    name: 'queue',
    usage: '[drop <number> | edit <number> <text>]',
    description: 'the queued prompts',
    isOnce: true,
    run: async (call) => {
      const [, verb = '', number = '', text = ''] = /^(\w+)(?:\s+(\d+))?(?:\s+([\s\S]+))?$/.exec(call.rest) ?? []
      if (call.rest === '') return await listQueue(call)
      if (verb.toLowerCase() === 'drop') return await dropEntry(call, number)
      if (verb.toLowerCase() === 'edit' && text !== '')
        return await runner.changeQueue(call.place, async () => await editEntry(call, number, text))
      return { text: plain(texts.queueHelp) }
    },
  }

  /** Lists the queued prompts of the place with their numbers and authors, or says that there are none. */
  async function listQueue({ place }: CommandCall): Promise<CommandReply> {
    const waiting = await runner.queuedPrompts(place)
    if (waiting.length === 0) return { text: texts.queueEmpty }
    const lines = waiting.map((prompt, index) => {
      return `${index + 1}. ${summaryOf(prompt)} · ${plain(authorNames(prompt))}`
    })
    return { text: [texts.queue, '', ...lines, '', plain(texts.queueHelp)].join('\n') }
  }

  /** Removes a queued prompt, and resolves with the reply. If it has started meanwhile, does nothing and says so. */
  async function dropEntry(call: CommandCall, number: string): Promise<CommandReply> {
    const entry = await requireEntry(call, number)
    const write: Write = { type: 'dequeue', queue: runner.queueNameOf(call.place), id: runner.queueIDOf(entry) }
    const isDropped = await state.commit([write])
    return { text: isDropped ? texts.dropped(Number(number), summaryOf(entry)) : texts.notQueued(number) }
  }

  /**
   * Replaces the text of a queued prompt, and resolves with the reply. A person who is not the author becomes an editor, so
   * the prompt then requires their rights too. If it has started meanwhile, does nothing and says so.
   */
  async function editEntry(call: CommandCall, number: string, text: string): Promise<CommandReply> {
    const entry = await requireEntry(call, number)
    const { channel, actor } = call.entry
    const isAuthor = people.isAuthor(entry, { channel, actor })
    const editors = isAuthor ? entry.editors : [...(entry.editors ?? []), { channel, actor }]
    const value = JSON.stringify({ ...entry, text, editors } satisfies QueuedPrompt)
    const write: Write = { type: 'replace', queue: runner.queueNameOf(call.place), id: runner.queueIDOf(entry), value }
    return { text: (await state.commit([write])) ? texts.edited(Number(number)) : texts.notQueued(number) }
  }

  /**
   * Returns the queued prompt with a number. Throws a `CommandRefusal` if there is none, or if it is another person's and
   * this one isn't an admin.
   */
  async function requireEntry({ place, person, entry }: CommandCall, number: string): Promise<QueuedPrompt> {
    const found = (await runner.queuedPrompts(place))[Number(number) - 1]
    if (!found) throw new CommandRefusal(texts.notQueued(plain(number)))
    if (people.isSamePerson(found, entry) || person.may.has('admin')) return found
    throw new CommandRefusal(texts.othersRun(plain(found.actor.name)))
  }
}

/** Returns the text of a prompt as one short line of Markdown. A prompt without text shows the names of its files. */
function summaryOf({ text, files }: QueuedPrompt): string {
  return plain(oneLine(text || files.map(({ name }) => name).join(', '), textLength))
}

/**
 * Sends a prompt into the running turn of the chat. Refuses if the chat has a run of another person, unless an admin sends it.
 * Queues the prompt if there is no run to steer, or if the run requires a right that its authors lack. Has no reply if a queued
 * prompt starts at once.
 */
export function steerCommand({ state, runner, runs, people }: CommandServices): Command {
  return {
    name: 'steer',
    usage: '<text>',
    description: 'tell the agent something while it works',
    isOnce: true,
    isPrompting: true,
    run: async ({ entry, place, rest }) => {
      if (rest === '' && entry.files.length === 0) return { text: plain(texts.steerWhat) }
      const prompt = { ...entry, text: rest, isCommand: false }
      const others = runs.active(place).find((run) => !mayActOn(run, entry, people))
      if (others) throw new CommandRefusal(texts.othersRun(plain(others.execution().prompt.actor.name)))
      const isAllowed = runs.active(place).every((run) => maySteer(run, prompt, people))
      if (isAllowed && (await runner.canSteer(prompt))) {
        await runner.beginNow(prompt, [])
        return { text: texts.steered }
      }
      const isBusy = runs.active(place).length > 0
      await state.commit([runner.enqueue(prompt)])
      runner.startQueue(place)
      const id = runner.queueIDOf(prompt)
      const position = isBusy
        ? (await runner.queuedPrompts(place)).findIndex((one) => runner.queueIDOf(one) === id) + 1
        : 0
      return position > 0 ? { text: texts.queued(position) } : undefined
    },
  }
}
