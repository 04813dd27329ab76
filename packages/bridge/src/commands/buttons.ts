import type { Button } from '@reply/sink/channel'

/** How many buttons stand side by side. The platform with the fewest rows has room for ten buttons and two more rows. */
const perRow = 4

/** Buttons in few rows, as platforms limit those. */
export function inRows(buttons: readonly Button[]): readonly (readonly Button[])[] {
  const rows = Math.ceil(buttons.length / perRow)
  return Array.from({ length: rows }, (_, row) => buttons.slice(row * perRow, (row + 1) * perRow))
}
