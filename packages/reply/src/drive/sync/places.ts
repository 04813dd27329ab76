import { toReadDirectory, toReadVersion, toReadWorktrees } from '../../decode/rest.ts'
import { ReplyError } from '../../error.ts'
import type { Place } from '../../place.ts'
import type { Rest } from '../transport/rest.ts'
import { isBeforeOneTwo } from '../transport/version.ts'

export interface Places {
  /** Reads a session, even if its directory is unknown. Rejects with `gone` if none of the server's projects has it. */
  session(place: Place): Promise<unknown>
  /** The directory in the server's spelling. Rejects if the server doesn't answer. */
  spelled(directory: string): Promise<string>
  /** Whether the server keeps each project's sessions apart, as servers before 1.2 do. */
  keepsProjectsApart(): Promise<boolean>
}

/**
 * Finds out where sessions live and how the server spells directories; the only place that turns a bare session id into
 * a place.
 */
export function createPlaces(rest: Pick<Rest, 'session' | 'path' | 'projects' | 'health'>): Places {
  const spellings = new Map<string, string>()
  return { session, spelled, keepsProjectsApart }

  /** From 1.2 on, the id alone is enough, whatever the directory. */
  async function session(place: Place): Promise<unknown> {
    try {
      return await rest.session(place)
    } catch (error) {
      if (!isGone(error) || !(await keepsProjectsApart())) throw error
      for (const directory of toReadWorktrees(await rest.projects())) {
        const found = await rest.session({ ...place, directory }).catch(unlessGone)
        if (found !== undefined) return found
      }
      throw error
    }
  }

  async function spelled(directory: string): Promise<string> {
    const known = spellings.get(directory)
    if (known !== undefined) return known
    const reported = toReadDirectory(await rest.path(directory).catch(unlessUnanswered)) ?? directory
    const spelling = withoutDots(reported)
    spellings.set(directory, spelling)
    return spelling
  }

  async function keepsProjectsApart(): Promise<boolean> {
    const version = toReadVersion(await rest.health().catch(() => undefined))
    return version !== undefined && isBeforeOneTwo(version)
  }
}

/** Servers before 1.2 return the directory as given, links included. This can only normalize the path's text. */
function withoutDots(directory: string): string {
  if (!directory.startsWith('/')) return directory
  const names: string[] = []
  for (const name of directory.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return `/${names.join('/')}`
}

function isGone(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'gone'
}

function unlessGone(error: unknown): undefined {
  if (!isGone(error)) throw error
}

/** A server that answers but doesn't have the route keeps the given spelling. */
function unlessUnanswered(error: unknown): undefined {
  if (!(error instanceof ReplyError) || error.type === 'unreachable' || error.type === 'closed') throw error
}
