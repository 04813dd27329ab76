import { toReadDirectory, toReadVersion, toReadWorktrees } from '../decode/rest.ts'
import { ReplyError } from '../error.ts'
import type { Place } from '../place.ts'
import type { Rest } from './rest.ts'
import { isBeforeOneTwo } from './version.ts'

export interface Places {
  /** Reads a session, also where its directory is not known. Rejects with `gone` when no project of the server has it. */
  session(place: Place): Promise<unknown>
  /** The directory as the server spells it. Rejects when the server does not answer. */
  spelled(directory: string): Promise<string>
  /** Servers before 1.2 keep the sessions of each project apart. */
  keepsProjectsApart(): Promise<boolean>
}

/** Finds out where sessions are and how the server spells directories: the one place where a bare session id becomes a place. */
export function createPlaces(rest: Pick<Rest, 'session' | 'path' | 'projects' | 'health'>): Places {
  const spellings = new Map<string, string>()
  return { session, spelled, keepsProjectsApart }

  /** From 1.2 on the id alone is enough, whatever the directory. */
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
    const told = toReadDirectory(await rest.path(directory).catch(unlessUnanswered)) ?? directory
    const spelling = withoutDots(told)
    spellings.set(directory, spelling)
    return spelling
  }

  async function keepsProjectsApart(): Promise<boolean> {
    const version = toReadVersion(await rest.health().catch(() => undefined))
    return version !== undefined && isBeforeOneTwo(version)
  }
}

/** Servers before 1.2 give back what they are given, links and all. Only what its own text tells can be mended here. */
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

/** A server that answers, but has no such route, spells directories as they are given. */
function unlessUnanswered(error: unknown): undefined {
  if (!(error instanceof ReplyError) || error.type === 'unreachable' || error.type === 'closed') throw error
}
