import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/**
 * The folders in which an agent that works in a directory reads and writes without asking: the directory, and the git
 * repository around it, which is OpenCode's project. Links are followed. Empty for a path of another kind of computer.
 */
export function reachOf(directory: string): readonly string[] {
  if (!isAbsolute(directory)) return []
  const own = realOf(directory)
  const repository = repositoryOf(own)
  return repository === undefined || repository === own ? [own] : [own, repository]
}

/**
 * The first of these files and folders, which need not exist, that an agent in a directory reaches. A link on the way to
 * one counts like the file: the agent could replace it.
 */
export function reachedFrom(directory: string, paths: readonly string[]): string | undefined {
  const reach = reachOf(directory)
  const isReached = (place: string): boolean => reach.some((folder) => isWithin(folder, place))
  return paths.find((path) => isReached(realOf(path)) || linksTo(path).some(isReached))
}

/** Where the links on the way to a path lie, also those that other links lead to. */
function linksTo(path: string): readonly string[] {
  const above = dirname(path)
  if (above === path) return []
  const links = linksTo(above)
  const place = join(realOf(above), basename(path))
  // A link that leads nowhere, or in a circle, leads to nothing that is used.
  if (!existsSync(place) || !lstatSync(place).isSymbolicLink()) return links
  return [...links, place, ...linksTo(resolve(dirname(place), readlinkSync(place)))]
}

function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (at === dirname(at)) return undefined
  }
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** Without links, and in the spelling of the disk. What doesn't exist is below its nearest folder that does. */
function realOf(path: string): string {
  if (existsSync(path)) return realpathSync.native(path)
  const above = dirname(path)
  return above === path ? path : join(realOf(above), basename(path))
}
