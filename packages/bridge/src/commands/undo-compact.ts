import type { Client, Reply } from '@reply/core'
import { toError } from '../error.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import { type Command, CommandRefusal, type CommandServices } from './command.ts'

/**
 * Reverts the last prompt of the session. Refuses while the session is busy, and for the prompt of another person, unless an
 * admin sends it. Says so if there is no session or prompt.
 */
export function undoCommand(services: CommandServices): Command {
  return {
    name: 'undo',
    description: 'take back the last prompt and its changes',
    isOnce: true,
    run: async ({ place, person, entry, target }) => {
      const { route, client } = await target()
      if (route.sessionID === undefined) return { text: texts.noSession }
      const newest = await newestReplyUnlessBusy(services, client, place, route.sessionID)
      const lastPromptID = newest?.promptIDs[0]
      if (lastPromptID === undefined) return { text: texts.nothingToUndo }
      await refuseUnlessAuthor(services, lastPromptID, entry, person)
      await client.revert(route.sessionID, lastPromptID)
      return { text: texts.undone, session: { server: route.server, sessionID: route.sessionID } }
    },
  }
}

/**
 * Starts to compact the session, and replies at once. A later failure is posted. Refuses while the session is busy, and in a
 * shared chat also if another person sent the last prompt.
 */
export function compactCommand(services: CommandServices): Command {
  const { mirrors, channels, onError } = services
  return {
    name: 'compact',
    description: "replace the session's history by a summary",
    isOnce: true,
    isPrompting: true,
    run: async ({ place, person, entry, target }) => {
      const { route, client } = await target()
      const { sessionID, server } = route
      if (sessionID === undefined) return { text: texts.noSession }
      const newest = await newestReplyUnlessBusy(services, client, place, sessionID)
      const isPrivate = place.chat.kind === 'private' && mirrors.others(place).length === 0
      const lastPromptID = isPrivate ? undefined : newest?.promptIDs[0]
      if (lastPromptID !== undefined) await refuseUnlessAuthor(services, lastPromptID, entry, person)
      // Not awaited: it may take minutes, and must not delay other commands.
      void client.compact(sessionID, route.model).catch(async (error) => {
        onError(toError(error))
        await channels.tryPost(place, { text: texts.failed(plain(chatMessageOf(error))) })
      })
      return { text: texts.compactStarted, session: { server, sessionID } }
    },
  }
}

/**
 * Returns the newest reply of a session. Undefined if it has none. Throws a `CommandRefusal` if a run is active in the place or in
 * the session, also one that another chat or client started.
 */
async function newestReplyUnlessBusy(
  { runs }: Pick<CommandServices, 'runs'>,
  client: Pick<Client, 'reply'>,
  place: ChatPlace,
  sessionID: string,
): Promise<Reply | undefined> {
  if (runs.active(place).length > 0 || runs.isSessionBusy(sessionID)) throw new CommandRefusal(texts.busyNow)
  const newest = await client.reply(sessionID)
  if (newest && newest.phase !== 'settled') throw new CommandRefusal(texts.busyNow)
  return newest
}

/**
 * Throws a `CommandRefusal` if another person sent the prompt, or if its author is unknown, unless this person is an admin.
 */
async function refuseUnlessAuthor(
  { routes, people }: Pick<CommandServices, 'routes' | 'people'>,
  promptID: string,
  entry: QueuedPrompt,
  person: Person,
): Promise<void> {
  if (person.may.has('admin')) return
  const author = await routes.authorOf(promptID)
  if (author && people.isSamePerson(author, entry)) return
  throw new CommandRefusal(texts.mayNot('admin'))
}
