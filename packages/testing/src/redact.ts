/** The paths and ports of the recording machine, which a recording must not reveal. */
export interface Machine {
  /** The project's directory. Written as `/project`. */
  readonly directory: string
  /** The home folder. Written as `/home/user`. */
  readonly home: string
  /** The folder that contains both. Written as `/tmp/reply`. */
  readonly root: string
  /** The port of the OpenCode server. Written as 4096. */
  readonly serverPort: number
  /** The port of the scripted model. Written as 4095. */
  readonly modelPort: number
}

/**
 * Returns the paths and addresses of this machine that a recording must not name, each with its replacement, in order.
 * Longer paths first: the project and the home lie below the root.
 */
const replacements = (machine: Machine): readonly (readonly [string, string])[] => [
  ...pathForms(machine.directory, '/project'),
  ...pathForms(machine.home, '/home/user'),
  ...pathForms(machine.root, '/tmp/reply'),
  [`127.0.0.1:${machine.serverPort}`, '127.0.0.1:4096'],
  [`127.0.0.1:${machine.modelPort}`, '127.0.0.1:4095'],
  [`localhost:${machine.modelPort}`, 'localhost:4095'],
]

/**
 * Returns a path with its replacement in each form: as written, in JSON, in a query, and without its leading slash, as
 * git and permissions may write it. Equal forms once.
 */
const pathForms = (path: string, replacement: string): readonly (readonly [string, string])[] => {
  const forms: readonly (readonly [string, string])[] = [
    [path, replacement],
    [JSON.stringify(path).slice(1, -1), replacement],
    [encodeURIComponent(path), encodeURIComponent(replacement)],
    [path.replace(/^\//, ''), replacement.replace(/^\//, '')],
  ]
  return forms.filter(([form], index) => forms.findIndex(([other]) => other === form) === index)
}

/** Returns the text with fixed paths and ports in place of the recording machine's. */
export const redact = (text: string, machine: Machine): string =>
  replacements(machine).reduce((done, [from, to]) => done.replaceAll(from, to), text)
