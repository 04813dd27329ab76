import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** A throw-away home and project. */
export interface Project {
  /** The throw-away folder that contains everything below. */
  readonly root: string
  /** The throw-away home folder, empty at first. */
  readonly home: string
  /** A git repository with one commit. */
  readonly directory: string
  /** Writes files into the project, for example `{ 'src/a.ts': '…' }`, without committing them. */
  write(files: Readonly<Record<string, string>>): Promise<void>
  /** Removes `root` with everything in it. Does nothing if it is gone. */
  remove(): Promise<void>
}

const run = promisify(execFile)

// A fixed author and date make the first commit, and with it OpenCode's project id, the same on every machine.
const fixed = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'reply',
  GIT_AUTHOR_EMAIL: 'reply@example.invalid',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_NAME: 'reply',
  GIT_COMMITTER_EMAIL: 'reply@example.invalid',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
}

/**
 * Makes a throw-away home and a throw-away git project below the system's temporary folder. The project's one commit
 * has a README and these files. Rejects if git fails.
 */
export const createProject = async (files: Readonly<Record<string, string>> = {}): Promise<Project> =>
  await createProjectIn(createRoot(), files)

/**
 * Makes the throw-away folder alone, and returns its real path. Synchronous, so that its guard starts before anything
 * can end the process.
 */
export const createRoot = (): string => realpathSync(mkdtempSync(join(tmpdir(), 'reply-')))

/** The same as `createProject` in a folder of `createRoot`. */
export const createProjectIn = async (root: string, files: Readonly<Record<string, string>>): Promise<Project> => {
  const home = join(root, 'home')
  const directory = join(root, 'project')
  const write: Project['write'] = async (more) => {
    for (const [name, content] of Object.entries(more)) {
      await mkdir(dirname(join(directory, name)), { recursive: true })
      await writeFile(join(directory, name), content)
    }
  }
  await mkdir(home, { recursive: true })
  await mkdir(directory, { recursive: true })
  /** Runs git in the project, with a fixed author and date. Rejects if it fails. */
  const git = (...args: string[]) => run('git', args, { cwd: directory, env: { ...process.env, ...fixed } })
  await git('init', '-q', '-b', 'main')
  await write({ 'README.md': '# A project to try things in\n', ...files })
  await git('add', '-A')
  await git('commit', '-q', '-m', 'Begin')
  return {
    root,
    home,
    directory,
    write,
    remove: () => rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  }
}
