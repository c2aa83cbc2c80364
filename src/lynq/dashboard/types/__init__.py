"""The JSON of the dashboard's API, `/api/v2`: the contract between the server and the pages.

`ui/src/api-types.ts` is generated from these structs, so that a renamed field breaks the build.
"""
