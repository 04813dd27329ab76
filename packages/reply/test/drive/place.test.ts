import { testPlaces } from './matrix/place.ts'

testPlaces('1.18.33', ['link/'])
