import { escapeInvisible, type FileChange } from '@reply/core'
import { changesLine, countChanges } from '@reply/core/show'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { texts } from '../../texts.ts'
import { useView } from '../context.ts'
import { memo } from '../memo.ts'
import { type DiffLayout, Hunks } from './file-diff.tsx'

/** Whether the page is wide enough for two texts side by side. */
const wide = matchMedia('(min-width: 900px)')

export function useIsWide(query: MediaQueryList = wide): boolean {
  const [isWide, setWide] = useState(query.matches)
  useEffect(() => {
    const note = (): void => setWide(query.matches)
    query.addEventListener('change', note)
    return () => query.removeEventListener('change', note)
  }, [query])
  return isWide
}

/** The reader's choice, until the page is left. */
let chosenLayout: DiffLayout = 'unified'

interface ChangesProps {
  /** What the run changed. */
  readonly changes: readonly FileChange[]
}

/** The files that the run changed, or its whole session: a list, and the lines of each. */
export const Changes = memo(({ changes }: ChangesProps): ComponentChildren => {
  const readSession = useView().sources().diff
  const isWide = useIsWide()
  const [layout, setLayout] = useState(chosenLayout)
  const [session, setSession] = useState<SessionDiff>({ type: 'off' })
  const load = async (): Promise<void> => {
    if (!readSession) return
    setSession({ type: 'loading' })
    try {
      setSession({ type: 'loaded', changes: await readSession() })
    } catch (error) {
      setSession({ type: 'failed', message: error instanceof Error ? error.message : texts.unknownError })
    }
  }
  const shown = session.type === 'loaded' ? session.changes : changes
  return (
    <div class="changes">
      <div class="changes-head">
        <p>{shown.length === 0 ? texts.diff.none : changesLine(countChanges(shown))}</p>
        {readSession && (
          <Choice
            label={texts.diff.of}
            options={[
              ['run', texts.diff.ofRun],
              ['session', texts.diff.ofSession],
            ]}
            chosen={session.type === 'off' || session.type === 'failed' ? 'run' : 'session'}
            choose={(of) => (of === 'session' ? void load() : setSession({ type: 'off' }))}
          />
        )}
        {isWide && shown.length > 0 && (
          <Choice
            label={texts.diff.layout}
            options={[
              ['unified', texts.diff.unified],
              ['split', texts.diff.split],
            ]}
            chosen={layout}
            choose={(next) => {
              chosenLayout = next
              setLayout(next)
            }}
          />
        )}
      </div>
      {session.type === 'loading' && <p role="status">{texts.loading}</p>}
      {session.type === 'failed' && (
        <p role="alert" class="problem">
          {session.message}
        </p>
      )}
      {shown.length > 1 && <FileList changes={shown} />}
      {shown.map((change, index) => (
        <FileSection
          key={`${index}:${change.path}`}
          id={`file-${index}`}
          change={change}
          layout={isWide ? layout : 'unified'}
          isHeaded
        />
      ))}
    </div>
  )
})

type SessionDiff =
  | { readonly type: 'off' | 'loading' }
  | { readonly type: 'loaded'; readonly changes: readonly FileChange[] }
  | { readonly type: 'failed'; readonly message: string }

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly options: readonly (readonly [value: T, text: string])[]
  readonly chosen: T
  readonly choose: (value: T) => void
}

function Choice<T extends string>({ label, options, chosen, choose }: ChoiceProps<T>): ComponentChildren {
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{label}</legend>
      {options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => choose(value)}>
          {text}
        </button>
      ))}
    </fieldset>
  )
}

function FileList({ changes }: ChangesProps): ComponentChildren {
  return (
    <ul class="file-list" aria-label={texts.diff.files}>
      {changes.map((change, index) => (
        <li key={`${index}:${change.path}`}>
          <button
            type="button"
            class="link"
            onClick={() => {
              const section = document.getElementById(`file-${index}`)
              section?.scrollIntoView()
              section?.focus({ preventScroll: true })
            }}
          >
            {escapeInvisible(change.path)}
          </button>
          <Counts change={change} />
        </li>
      ))}
    </ul>
  )
}

function Counts({ change }: { readonly change: FileChange }): ComponentChildren {
  const { additions, deletions, kind, isBinary } = change
  return (
    <span class="counts">
      {kind !== 'modified' && <span class={`kind ${kind}`}>{texts.diff.kinds[kind]}</span>}
      {isBinary && <span class="kind">{texts.diff.binary}</span>}
      {additions !== undefined && additions > 0 && <span class="added-count">+{additions}</span>}
      {deletions !== undefined && deletions > 0 && <span class="removed-count">−{deletions}</span>}
    </span>
  )
}

interface FileSectionProps {
  readonly id?: string | undefined
  readonly change: FileChange
  readonly layout: DiffLayout
  /** Whether its path is a heading of the page. */
  readonly isHeaded?: boolean
}

/** One file: its path, what happened to it, and its lines. */
export const FileSection = memo(({ id, change, layout, isHeaded = false }: FileSectionProps): ComponentChildren => {
  const { path, from, kind, isBinary, patches } = change
  const [isOpen, setOpen] = useState(true)
  const head = (
    <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      <span class="path">
        {kind === 'renamed' && from !== undefined && <span class="from">{escapeInvisible(from)} → </span>}
        {escapeInvisible(path)}
      </span>
      <Counts change={change} />
    </button>
  )
  return (
    <div class="file" id={id} tabIndex={-1}>
      {isHeaded ? <h2 class="file-head">{head}</h2> : <div class="file-head">{head}</div>}
      {isOpen &&
        (patches.length > 0 ? (
          <Hunks patches={patches} layout={layout} />
        ) : (
          <p class="diff-note">{noLines(kind, isBinary)}</p>
        ))}
    </div>
  )
})

function noLines(kind: FileChange['kind'], isBinary: true | undefined): string {
  if (isBinary) return texts.diff.isBinary
  return kind === 'renamed' ? texts.diff.onlyRenamed : texts.diff.unknown
}
