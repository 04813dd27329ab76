import * as z from 'zod'
import type { Chat } from './chats/chat.ts'
import { type Person, people } from './people.ts'
import { RequestError } from './request-error.ts'

const by = { chat: z.string(), person: z.string() }
const thread = z.string().optional()

const bodies = {
  say: z.strictObject({ ...by, text: z.string().trim().min(1).max(20_000), thread }),
  press: z.strictObject({ ...by, message: z.string(), label: z.string() }),
  submit: z.strictObject({ ...by, answers: z.array(z.union([z.string(), z.array(z.string())])) }),
  stop: z.strictObject({ ...by, thread }),
}

/** The response to the page. `notice` is shown to the person who acted. */
export interface Answer {
  readonly notice?: string
}

/** Executes a request of the page. Throws a `RequestError` if the request is invalid. */
export async function actIn(chats: readonly Chat[], path: string, body: unknown): Promise<Answer> {
  switch (path) {
    case '/say': {
      const { text, thread: at, ...who } = parsed(bodies.say, body)
      const { chat, person } = actorIn(chats, who)
      chat.say(person, text, at)
      return {}
    }
    case '/press': {
      const { message, label, ...who } = parsed(bodies.press, body)
      const { chat, person } = actorIn(chats, who)
      const notice = await chat.press(person, message, label)
      return notice === undefined ? {} : { notice }
    }
    case '/submit': {
      const { answers, ...who } = parsed(bodies.submit, body)
      const { chat, person } = actorIn(chats, who)
      await chat.submit(person, answers)
      return {}
    }
    case '/stop': {
      const { thread: at, ...who } = parsed(bodies.stop, body)
      const { chat, person } = actorIn(chats, who)
      await chat.stop(person, at)
      return {}
    }
    default:
      throw new RequestError(404, `There is no POST ${path}.`)
  }
}

function parsed<Body>(schema: z.ZodType<Body>, body: unknown): Body {
  const { data, error } = schema.safeParse(body)
  if (error) throw new RequestError(400, z.prettifyError(error))
  return data
}

interface Named {
  readonly chat: string
  readonly person: string
}

function actorIn(chats: readonly Chat[], named: Named): { readonly chat: Chat; readonly person: Person } {
  const chat = chats.find(({ name }) => name === named.chat)
  const person = people.find(({ id }) => id === named.person)
  if (!chat || !person) throw new RequestError(400, `There is no chat ${named.chat} with a person ${named.person}.`)
  return { chat, person }
}
