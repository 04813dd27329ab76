import { isGone, type OnError, ReplyError, undefinedIfGone } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import { noDirectoryError } from '../http/server-errors.ts'
import type { SessionInfo } from '../port.ts'
import { resolveDots } from '../resolve-dots.ts'
import {
  toReadDirectory,
  toReadSession,
  toReadSessions,
  toReadVersion,
  toReadWorktrees,
} from './decode/rest-responses.ts'
import type { Rest } from './rest.ts'
import { isBeforeOneTwo, refusesMissingDirectory } from './version.ts'

export interface Places {
  /** Reads a session, even if its directory is unknown. Rejects with `gone` if no project of the server has it. */
  session(place: SessionRef): Promise<SessionInfo>
  /** Lists the root sessions of all projects that the server knows. */
  sessionsEverywhere(since: number | undefined): Promise<readonly SessionInfo[]>
  /** Whether the server keeps the sessions of each project apart, as those before 1.2 do. */
  keepsProjectsApart(): Promise<boolean>
  /**
   * Returns the directory in the server's spelling. Rejects if the server doesn't answer, and with `refused` if it
   * certainly has no such directory. Servers before 1.17 show a missing directory as empty, which is reported once.
   */
  spelled(directory: string): Promise<string>
}

type PlacesRest = Pick<Rest, 'session' | 'path' | 'listing' | 'projects' | 'health' | 'sessions' | 'sessionsEverywhere'>

/**
 * Creates the look-up of sessions by their ids, and of the server's spelling of directories, by which its events name
 * them. Servers before 1.2 keep the sessions of each project apart, so it may look in each.
 */
export function createPlaces(rest: PlacesRest, name: string, onError: OnError): Places {
  const spellings = new Map<string, string>()
  return { session: readSession, sessionsEverywhere: readSessionsEverywhere, keepsProjectsApart, spelled: readSpelling }

  /**
   * Returns a session. Servers before 1.2 keep projects apart, so it is looked up in each. Rejects with `gone` if none
   * has it.
   */
  async function readSession(place: SessionRef): Promise<SessionInfo> {
    try {
      return toSessionOrThrow(place, await rest.session(place))
    } catch (error) {
      if (!isGone(error) || !(await keepsProjectsApart())) throw error
      for (const directory of toReadWorktrees(await rest.projects())) {
        const found = await rest.session({ ...place, directory }).catch(undefinedIfGone)
        if (found !== undefined) return toSessionOrThrow(place, found)
      }
      throw error
    }
  }

  /** Returns the root sessions of all projects, each once. With a time, only those that changed at it or later. */
  async function readSessionsEverywhere(since: number | undefined): Promise<readonly SessionInfo[]> {
    // Servers before 1.2 forward unknown routes to a website.
    if (!(await keepsProjectsApart())) return toReadSessions(await rest.sessionsEverywhere(since), onError)
    const directories = toReadWorktrees(await rest.projects())
    const lists = await Promise.all(directories.map((directory) => rest.sessions(since, directory)))
    const found = lists.flatMap((list) => toReadSessions(list, onError))
    return [...new Map(found.map((info) => [info.sessionID, info])).values()]
  }

  /**
   * Returns the server's spelling of a directory and stores it. Without such a route on the server, that is your own
   * without dots. Rejects with `refused` if the directory certainly doesn't exist, and reports it to `onError` if it
   * may be missing.
   */
  async function readSpelling(directory: string): Promise<string> {
    const storedSpelling = spellings.get(directory)
    if (storedSpelling !== undefined) return storedSpelling
    const reported = toReadDirectory(await rest.path(directory).catch(undefinedIfAnswered)) ?? directory
    await checkDirectory(directory)
    const spelling = resolveDots(reported)
    spellings.set(directory, spelling)
    return spelling
  }

  /**
   * Rejects with `refused` if the server can't list the directory, and reports an empty one unless the server's version
   * refuses a missing one. A wrong directory looks like one without sessions, and its first prompt never ends.
   */
  async function checkDirectory(directory: string): Promise<void> {
    const { isListed, isEmpty } = await rest.listing(directory)
    if (!isListed) throw noDirectoryError(name, directory)
    if (!isEmpty || refusesMissingDirectory(toReadVersion(await rest.health().catch(() => undefined)))) return
    const message = `${name} finds nothing in the directory ${JSON.stringify(directory)}: it is empty or doesn't exist. If it should have files, correct \`directory\`.`
    onError(new ReplyError('refused', message))
  }

  /**
   * Returns whether the server is older than 1.2, which keeps the sessions of each project apart. Resolves to false if
   * its version is unknown.
   */
  async function keepsProjectsApart(): Promise<boolean> {
    const version = toReadVersion(await rest.health().catch(() => undefined))
    return version !== undefined && isBeforeOneTwo(version)
  }
}

/** Converts a response to a session. Throws `malformed` if it isn't one. */
function toSessionOrThrow({ sessionID }: SessionRef, value: unknown): SessionInfo {
  const session = toReadSession(value)
  if (session) return session
  const message = `The server's response for session ${JSON.stringify(sessionID)} is not a session.`
  throw new ReplyError('malformed', message)
}

/** Returns undefined for an error of a server that answered, for example without the route. Throws all other errors. */
function undefinedIfAnswered(error: unknown): undefined {
  if (!(error instanceof ReplyError) || error.type === 'unreachable' || error.type === 'closed') throw error
}
