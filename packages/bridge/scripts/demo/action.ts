import * as z from 'zod'
import type { Chat } from './chats/chat.ts'
import { type Person, people } from './people.ts'
import { RequestError } from './request-error.ts'

const actor = { chat: z.string(), person: z.string() }
const thread = z.string().optional()

const bodies = {
  say: z.strictObject({ ...actor, text: z.string().trim().min(1).max(20_000), thread }),
  press: z.strictObject({ ...actor, message: z.string(), label: z.string() }),
  submit: z.strictObject({ ...actor, answers: z.array(z.union([z.string(), z.array(z.string())])) }),
  stop: z.strictObject({ ...actor, thread }),
}

/** The response to the page. `notice` is shown to the person who acted. */
export interface Answer {
  readonly notice?: string
}

/**
 * Executes a request of the page in its chat, and resolves with what the page shows. Rejects with a `RequestError`: 404 for an
 * unknown path, 400 for an invalid body or an unknown chat or person. Rejects with errors of the platform, too.
 */
export async function actIn(chats: readonly Chat[], path: string, body: unknown): Promise<Answer> {
  switch (path) {
    case '/say': {
      const { text, thread: at, ...by } = parsed(bodies.say, body)
      const { chat, person } = actorIn(chats, by.chat, by.person)
      chat.say(person, text, at)
      return {}
    }
    case '/press': {
      const { message, label, ...by } = parsed(bodies.press, body)
      const { chat, person } = actorIn(chats, by.chat, by.person)
      const notice = await chat.press(person, message, label)
      return notice === undefined ? {} : { notice }
    }
    case '/submit': {
      const { answers, ...by } = parsed(bodies.submit, body)
      const { chat, person } = actorIn(chats, by.chat, by.person)
      await chat.submit(person, answers)
      return {}
    }
    case '/stop': {
      const { thread: at, ...by } = parsed(bodies.stop, body)
      const { chat, person } = actorIn(chats, by.chat, by.person)
      await chat.stop(person, at)
      return {}
    }
    default:
      throw new RequestError(404, `There is no POST ${path}.`)
  }
}

/** Returns the checked body of a request. Throws a `RequestError` with status 400 if it does not fit. */
function parsed<Body>(schema: z.ZodType<Body>, body: unknown): Body {
  const { data, error } = schema.safeParse(body)
  if (error) throw new RequestError(400, z.prettifyError(error))
  return data
}

/** Returns the chat and the person with these names. Throws a `RequestError` with status 400 if one of them is unknown. */
function actorIn(
  chats: readonly Chat[],
  chatName: string,
  personID: string,
): { readonly chat: Chat; readonly person: Person } {
  const chat = chats.find(({ name }) => name === chatName)
  const person = people.find(({ id }) => id === personID)
  if (!chat || !person) throw new RequestError(400, `There is no chat ${chatName} with a person ${personID}.`)
  return { chat, person }
}
