import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'

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

/** The first of these files and folders, which need not exist, that an agent in a directory reaches. */
export function reachedFrom(directory: string, paths: readonly string[]): string | undefined {
  const reach = reachOf(directory)
  return paths.find((path) => reach.some((folder) => isWithin(folder, realOf(path))))
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
