import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import type { Row } from './rows.ts'

interface SearchProps {
  /** What is searched. It may be a second old. */
  readonly rows: readonly Row[]
  /** Shows a row, unfolded. */
  readonly goTo: (row: Row) => void
  readonly close: () => void
}

/** Searches all rows, also those that are not in the document, where the browser's own search finds nothing. */
export function Search({ rows, goTo, close }: SearchProps): ComponentChildren {
  const field = useRef<HTMLInputElement>(null)
  const [query, setQuery] = useState('')
  const [shown, setShown] = useState<string | undefined>(undefined)
  useEffect(() => field.current?.focus(), [])
  const found = useMemo(() => rowsWith(rows, query), [rows, query])
  const at = found.findIndex(({ key }) => key === shown)
  const move = (step: number): void => {
    const from = at < 0 && step < 0 ? 0 : at
    const next = found[(from + step + found.length) % Math.max(1, found.length)]
    if (!next) return
    setShown(next.key)
    goTo(next)
  }
  return (
    <search class="search">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          move(1)
        }}
      >
        <input
          ref={field}
          type="text"
          value={query}
          aria-label={texts.search.label}
          placeholder={texts.search.label}
          onInput={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') close()
            if (event.key === 'Enter' && event.shiftKey) {
              event.preventDefault()
              move(-1)
            }
          }}
        />
        <span class="search-found" role="status">
          {query.trim() === '' ? '' : texts.search.found(at + 1, found.length)}
        </span>
        <button type="button" aria-label={texts.search.previous} disabled={found.length === 0} onClick={() => move(-1)}>
          ↑
        </button>
        <button type="submit" aria-label={texts.search.next} disabled={found.length === 0}>
          ↓
        </button>
        <button type="button" aria-label={texts.search.close} onClick={close}>
          ×
        </button>
      </form>
    </search>
  )
}

function rowsWith(rows: readonly Row[], query: string): readonly Row[] {
  const wanted = query.trim().toLowerCase()
  return wanted === '' ? [] : rows.filter((row) => textOf(row).toLowerCase().includes(wanted))
}

/** Everything that a row says, also while it is folded. */
function textOf(row: Row): string {
  switch (row.type) {
    case 'prompt':
      return [row.prompt.text, ...row.prompt.files].join('\n')
    case 'text':
      return row.chunk.text
    case 'reasoning':
      return row.part.text
    case 'tool': {
      const { title, input, output, error } = row.part.state
      return [row.part.tool, title, ...Object.values(input).map(wordsOf), output, error].join('\n')
    }
    case 'file':
      return [row.part.filename, row.part.caption].join('\n')
    case 'patch':
      return row.part.files.join('\n')
    case 'retry':
      return row.part.error.message
    case 'failure':
      return row.error.message
    case 'ask':
      return wordsOf(row.ask.type === 'permission' ? [row.ask.title, row.ask.call?.input] : row.ask.questions)
    case 'agent':
    case 'compaction':
    case 'end':
      return ''
    default:
      return row satisfies never
  }
}

function wordsOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
