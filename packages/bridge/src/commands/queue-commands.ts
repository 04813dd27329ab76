import { oneLine } from '@reply/sink/internal'
import { mayActOn, maySteer } from '../runs/active-runs.ts'
import { authorNames, type QueuedPrompt } from '../state/queued-prompt.ts'
import type { Write } from '../store/store.ts'
import { plain, texts } from '../texts.ts'
import { type Command, type CommandCall, type CommandContext, CommandRefusal, type CommandReply } from './command.ts'

/** How much of an entry is listed, in UTF-16 units. */
const textLength = 100

/** Commands about queued prompts. */
export function queueCommands(context: CommandContext): readonly Command[] {
  const { state, runner, runs, people } = context
  return [
    {
      name: 'queue',
      usage: '[drop <number> | edit <number> <text>]',
      description: 'the queued prompts',
      isOnce: true,
      run: async (call) => {
        const [, verb = '', number = '', text = ''] = /^(\w+)(?:\s+(\d+))?(?:\s+([\s\S]+))?$/.exec(call.rest) ?? []
        if (call.rest === '') return await listQueue(call)
        if (verb.toLowerCase() === 'drop') return await dropEntry(call, number)
        if (verb.toLowerCase() === 'edit' && text !== '') return await editEntry(call, { number, text })
        return { text: plain(texts.queueHelp) }
      },
    },
    {
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
        const number = isBusy
          ? (await runner.queuedPrompts(place)).findIndex((one) => runner.queueIDOf(one) === id) + 1
          : 0
        return number > 0 ? { text: texts.queued(number) } : undefined
      },
    },
  ]

  /** Lists the queued prompts of the place, with their numbers. */
  async function listQueue({ place }: CommandCall): Promise<CommandReply> {
    const waiting = await runner.queuedPrompts(place)
    if (waiting.length === 0) return { text: texts.queueEmpty }
    const lines = waiting.map((prompt, index) => {
      const { text, files } = prompt
      const what = oneLine(text || files.map(({ name }) => name).join(', '), textLength)
      return `${index + 1}. ${plain(what)} · ${plain(authorNames(prompt))}`
    })
    return { text: [texts.queue, '', ...lines, '', plain(texts.queueHelp)].join('\n') }
  }

  /** Removes a queued prompt, and returns the reply. If the prompt has started meanwhile, only the reply tells so. */
  async function dropEntry(call: CommandCall, number: string): Promise<CommandReply> {
    const entry = await requireEntry(call, number)
    const isDropped = await state.commit([
      { type: 'dequeue', queue: runner.queueNameOf(call.place), id: runner.queueIDOf(entry) },
    ])
    return {
      text: isDropped
        ? texts.dropped(
            Number(number),
            plain(oneLine(entry.text || entry.files.map(({ name }) => name).join(', '), textLength)),
          )
        : texts.notQueued(number),
    }
  }

  /**
   * Replaces the text of a queued prompt, and returns the reply. The person becomes an editor, so the prompt then requires
   * their rights too.
   */
  async function editEntry(
    call: CommandCall,
    { number, text }: { readonly number: string; readonly text: string },
  ): Promise<CommandReply> {
    const entry = await requireEntry(call, number)
    const { channel, actor } = call.entry
    const isAuthor = people.isAuthor(entry, { channel, actor })
    const editors = isAuthor ? entry.editors : [...(entry.editors ?? []), { channel, actor }]
    const value = JSON.stringify({ ...entry, text, editors } satisfies QueuedPrompt)
    const write: Write = { type: 'replace', queue: runner.queueNameOf(call.place), id: runner.queueIDOf(entry), value }
    return { text: (await state.commit([write])) ? texts.edited(Number(number)) : texts.notQueued(number) }
  }

  /**
   * Returns the queued prompt with a number. Throws a `CommandRefusal` if there is none, or if it is not the person's and
   * they are no admin.
   */
  async function requireEntry({ place, person, entry }: CommandCall, number: string): Promise<QueuedPrompt> {
    const found = (await runner.queuedPrompts(place))[Number(number) - 1]
    if (!found) throw new CommandRefusal(texts.notQueued(plain(number)))
    if (people.isSamePerson(found, entry) || person.may.has('admin')) return found
    throw new CommandRefusal(texts.othersRun(plain(found.actor.name)))
  }
}
