import type { Rest } from '../transport/rest.ts'

/** The lists that cover all sessions of a directory. */
export type Lists = Pick<Rest, 'status' | 'questions' | 'permissions'>

/**
 * Reads each list once per directory, no matter how many of its sessions are read. For one resync, which holds back
 * later events.
 */
export function createSharedLists(rest: Lists): Lists {
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
