import type { Rest } from './rest.ts'

/** What a directory tells of all its sessions at once. */
export type Lists = Pick<Rest, 'status' | 'questions' | 'permissions'>

/** Asks each directory once, however many of its sessions are read: for one resync, whose later events are kept back. */
export function createLists(rest: Lists): Lists {
  return { status: once(rest.status), questions: once(rest.questions), permissions: once(rest.permissions) }
}

type List = (directory: string | undefined) => Promise<unknown>

function once(ask: List): List {
  const asked = new Map<string | undefined, Promise<unknown>>()
  return (directory) => {
    const answer = asked.get(directory) ?? ask(directory)
    asked.set(directory, answer)
    return answer
  }
}
