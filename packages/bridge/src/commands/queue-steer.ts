import { oneLine } from '@reply/sink/internal'
import type { Person } from '../people/people.ts'
import { placeKey } from '../place.ts'
import { mayActOn, maySteer } from '../runs/active-runs.ts'
import { authorNames, type QueuedPrompt } from '../state/queued-prompt.ts'
import type { Write } from '../store/store.ts'
import { plain, texts } from '../texts.ts'
import { isAudio } from '../voice/audio.ts'
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
      if (verb.toLowerCase() === 'drop')
        return await runner.changeQueue(call.place, async () => await dropEntry(call, number))
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
    if (isDropped) runner.cancelTranscription(entry)
    return { text: isDropped ? texts.dropped(Number(number), summaryOf(entry)) : texts.notQueued(number) }
  }

  /** Replaces the text of a queued prompt, and resolves with the reply. If it has started meanwhile, does nothing and says so. */
  async function editEntry(call: CommandCall, number: string, text: string): Promise<CommandReply> {
    const entry = await requireEntry(call, number)
    const isEdited = await replaceText({ state, runner, people }, entry, call.entry, text)
    return { text: isEdited ? texts.edited(Number(number)) : texts.notQueued(number) }
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

/**
 * Replaces the text of the queued prompt that the message replies to, or whose quotation it replies to. Without such a reply, that
 * of the newest queued prompt that the person sent in the chat.
 */
export function editCommand(services: CommandServices): Command {
  const { runner, people } = services
  return {
    name: 'edit',
    usage: '<text>',
    description: 'replace the text of your newest prompt that waits',
    isOnce: true,
    run: async ({ place, person, entry, rest }) => {
      if (rest === '') return { text: plain(texts.editWhat) }
      return await runner.changeQueue(place, async () => {
        const waiting = await runner.queuedPrompts(place)
        const isMeant = (prompt: QueuedPrompt): boolean => isReplyTo(entry, prompt, prompt.messageRef)
        const meant = waiting.find((prompt) => isMeant(prompt) || repliesToQuote(entry, prompt))
        const found = meant ?? waiting.findLast((prompt) => people.isSamePerson(prompt, entry))
        if (!found) throw new CommandRefusal(plain(texts.nothingToEdit))
        if (!people.isSamePerson(found, entry) && !person.may.has('admin'))
          throw new CommandRefusal(texts.othersRun(plain(found.actor.name)))
        const isEdited = await replaceText(services, found, entry, rest)
        return { text: isEdited ? texts.edited(waiting.indexOf(found) + 1) : plain(texts.nothingToEdit) }
      })
    },
  }
}

/**
 * Replaces the text of the queued prompt whose quotation a message replies to, and commits `removal` with it. Resolves with the
 * reply for the person. Undefined, and nothing is written, if the message does not reply to one, has files, or comes too late,
 * because the prompt has started. Another person needs `admin`.
 */
export async function editByReply(
  services: Pick<CommandServices, 'state' | 'runner' | 'people'>,
  entry: QueuedPrompt,
  person: Person,
  removal: readonly Write[],
): Promise<string | undefined> {
  const { runner, people } = services
  if (entry.replyTo === undefined || entry.isCommand || entry.files.length > 0) return undefined
  return await runner.changeQueue(entry, async () => {
    const waiting = await runner.queuedPrompts(entry)
    const found = waiting.find((prompt) => repliesToQuote(entry, prompt))
    if (!found) return undefined
    if (!people.isSamePerson(found, entry) && !person.may.has('admin')) return texts.othersRun(plain(found.actor.name))
    const isEdited = await replaceText(services, found, entry, entry.text, removal)
    return isEdited ? texts.edited(waiting.indexOf(found) + 1) : undefined
  })
}

/** Whether a message replies to the quotation of a prompt. */
function repliesToQuote(entry: QueuedPrompt, prompt: QueuedPrompt): boolean {
  return typeof prompt.quote === 'object' && isReplyTo(entry, prompt, prompt.quote)
}

/** Whether a message replies to a message in the place of a prompt. */
function isReplyTo(entry: QueuedPrompt, prompt: QueuedPrompt, { id }: QueuedPrompt['messageRef']): boolean {
  return entry.replyTo?.id === id && placeKey(entry) === placeKey(prompt)
}

/**
 * Replaces the text of a queued prompt, and commits `removal` with it. Its voice notes are dropped: the text is in their place. A
 * person who is not the author becomes an editor, so the prompt then requires their rights too. Resolves with false, and writes
 * nothing, if the prompt has started meanwhile.
 */
async function replaceText(
  { state, runner, people }: Pick<CommandServices, 'state' | 'runner' | 'people'>,
  prompt: QueuedPrompt,
  { channel, actor }: QueuedPrompt,
  text: string,
  removal: readonly Write[] = [],
): Promise<boolean> {
  const isAuthor = people.isAuthor(prompt, { channel, actor })
  const editors = isAuthor ? prompt.editors : [...(prompt.editors ?? []), { channel, actor }]
  const files = prompt.files.filter((file) => !isAudio(file))
  const quote = prompt.quote === 'due' ? undefined : prompt.quote
  const edited = { ...prompt, text, files, editors, quote, isSpoken: undefined, isAfterAsks: undefined }
  if (!(await state.commit([...removal, runner.replace(edited)]))) return false
  runner.cancelTranscription(prompt)
  return true
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
      // A voice note must be transcribed first.
      const isAllowed = !prompt.files.some(isAudio) && runs.active(place).every((run) => maySteer(run, prompt, people))
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
