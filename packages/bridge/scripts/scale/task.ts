/**
 * What a person asks an agent for, as text. The simulated people write it, and the scripted agent reads it.
 *
 * - `answer`: the agent writes for `ms`, and is done.
 * - `ask`: the agent asks for a permission. Allowed, it answers. Rejected, it ends.
 * - `hold`: the agent begins and goes on until it is stopped.
 */
export type TaskKind = 'answer' | 'ask' | 'hold'

/** One message of a person that an agent is to run once. */
export interface Task {
  /** Unique, and a plain word, so that no platform marks it up. */
  readonly token: string
  readonly kind: TaskKind
  /** How long the agent writes. */
  readonly ms: number
}

/** Returns the token of the task with this number. Tokens sort like their numbers. */
export function tokenOf(number: number): string {
  return `t${String(number).padStart(6, '0')}`
}

/** Returns the message in which a person gives the task. */
export function messageOf({ token, kind, ms }: Task): string {
  return `Please do ${token} ${kind} ${ms}.`
}

/** Returns the tasks in the text of a prompt, in their order. A bridge may put several messages into one prompt. */
export function tasksIn(prompt: string): readonly Task[] {
  const found = prompt.matchAll(/Please do (t\d{6}) (answer|ask|hold) (\d+)\./g)
  return [...found].map(([, token = '', kind, ms]) => ({ token, kind: kindNamed(kind), ms: Number(ms) }))
}

function kindNamed(name: string | undefined): TaskKind {
  return name === 'ask' || name === 'hold' ? name : 'answer'
}

/** Returns the end of the answer to a task, which its chat shows exactly once. */
export function endingOf(token: string): string {
  return `This is the whole answer of ${token}.`
}

/** Returns how an answer may begin, by the agent that gives it. Its first message shows that, and no other one. */
export function beginningsOf(token: string): readonly string[] {
  return [sentenceOf(1, token), `Beginning of ${token}.`]
}

/** Returns a sentence of an answer that takes time. */
export function sentenceOf(number: number, token: string): string {
  return `Sentence ${number} about ${token}.`
}

/** Returns the command that a task needs a permission for. */
export function askOf(token: string): string {
  return `touch ${token}`
}
